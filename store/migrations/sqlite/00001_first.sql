-- Times are UTC microseconds since 1970 (BIGINT, NULL when unset); ids are sortable text with a prefix
-- that names their kind; lists are JSON text. Only the types (and COLLATE "C", bytes in order) differ between the dialects.

-- +goose Up
CREATE TABLE setting (
    name       TEXT PRIMARY KEY,
    value      TEXT NOT NULL,
    updated_at BIGINT NOT NULL
);
-- Counts changes of what decides fan-out (subscriptions, endpoints, partners, routes).
INSERT INTO setting (name, value, updated_at) VALUES ('fanout_epoch', '1', 0);

CREATE TABLE partner (
    id                 TEXT PRIMARY KEY,
    own                BOOLEAN NOT NULL DEFAULT FALSE,
    name               TEXT NOT NULL,
    oin                TEXT NOT NULL DEFAULT '',
    kvk                TEXT NOT NULL DEFAULT '',
    her_id             TEXT NOT NULL DEFAULT '',
    contact_name       TEXT NOT NULL DEFAULT '',
    contact_email      TEXT NOT NULL DEFAULT '',
    contact_phone      TEXT NOT NULL DEFAULT '',
    endpoint_kinds     TEXT NOT NULL DEFAULT '[]',
    terms_version      TEXT NOT NULL DEFAULT '',
    terms_accepted_at  BIGINT,
    email_confirmed_at BIGINT,
    status             TEXT NOT NULL,
    status_reason      TEXT NOT NULL DEFAULT '',
    created_at         BIGINT NOT NULL,
    updated_at         BIGINT NOT NULL,
    decided_at         BIGINT,
    decided_by         TEXT NOT NULL DEFAULT ''
);
CREATE INDEX partner_status ON partner (status, created_at);
CREATE UNIQUE INDEX partner_oin ON partner (oin) WHERE oin <> '' AND status NOT IN ('rejected', 'ended');

CREATE TABLE account (
    id             TEXT PRIMARY KEY,
    email          TEXT NOT NULL UNIQUE,
    name           TEXT NOT NULL,
    password_hash  TEXT NOT NULL DEFAULT '',
    role           TEXT NOT NULL,
    partner_id     TEXT NOT NULL DEFAULT '',
    status         TEXT NOT NULL,
    session_epoch  BIGINT NOT NULL DEFAULT 0,
    created_at     BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL,
    last_login_at  BIGINT
);
CREATE INDEX account_partner ON account (partner_id);

CREATE TABLE account_identity (
    issuer     TEXT NOT NULL,
    subject    TEXT NOT NULL,
    account_id TEXT NOT NULL REFERENCES account (id),
    created_at BIGINT NOT NULL,
    PRIMARY KEY (issuer, subject)
);

CREATE TABLE session (
    token_hash BLOB PRIMARY KEY,
    data       BLOB NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX session_expiry ON session (expires_at);

-- A link that works once: the first administrator, an invitation, a new password, a confirmed e-mail address.
CREATE TABLE one_time_link (
    token_hash BLOB PRIMARY KEY,
    purpose    TEXT NOT NULL,
    subject    TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at    BIGINT
);
CREATE INDEX one_time_link_subject ON one_time_link (purpose, subject);

CREATE TABLE login_throttle (
    bucket        TEXT PRIMARY KEY,
    failures      BIGINT NOT NULL,
    blocked_until BIGINT,
    updated_at    BIGINT NOT NULL
);

CREATE TABLE client (
    id                TEXT PRIMARY KEY,
    partner_id        TEXT NOT NULL REFERENCES partner (id),
    name              TEXT NOT NULL,
    auth_method       TEXT NOT NULL,
    secret_hash       TEXT NOT NULL DEFAULT '',
    jwks              TEXT NOT NULL DEFAULT '',
    jwks_uri          TEXT NOT NULL DEFAULT '',
    scopes            TEXT NOT NULL DEFAULT '[]',
    requested_scopes  TEXT NOT NULL DEFAULT '[]',
    publish_types     TEXT NOT NULL DEFAULT '[]',
    publish_sources   TEXT NOT NULL DEFAULT '[]',
    requested_types   TEXT NOT NULL DEFAULT '[]',
    requested_sources TEXT NOT NULL DEFAULT '[]',
    status            TEXT NOT NULL,
    status_reason     TEXT NOT NULL DEFAULT '',
    token_version     BIGINT NOT NULL DEFAULT 1,
    created_at        BIGINT NOT NULL,
    updated_at        BIGINT NOT NULL,
    decided_at        BIGINT,
    decided_by        TEXT NOT NULL DEFAULT ''
);
CREATE INDEX client_partner ON client (partner_id);
CREATE INDEX client_status ON client (status, created_at);

-- Values that may be used once within their lifetime, such as the jti of a client assertion.
CREATE TABLE used_once (
    value      TEXT PRIMARY KEY,
    expires_at BIGINT NOT NULL
);
CREATE INDEX used_once_expiry ON used_once (expires_at);

CREATE TABLE signing_key (
    id          TEXT PRIMARY KEY,
    algorithm   TEXT NOT NULL,
    private_key TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    retired_at  BIGINT
);

CREATE TABLE endpoint (
    id                  TEXT PRIMARY KEY,
    partner_id          TEXT NOT NULL REFERENCES partner (id),
    name                TEXT NOT NULL,
    kind                TEXT NOT NULL,
    url                 TEXT NOT NULL DEFAULT '',
    content_mode        TEXT NOT NULL DEFAULT 'structured',
    token_url           TEXT NOT NULL DEFAULT '',
    token_client_id     TEXT NOT NULL DEFAULT '',
    token_secret        TEXT NOT NULL DEFAULT '',
    token_scope         TEXT NOT NULL DEFAULT '',
    token_auth_method   TEXT NOT NULL DEFAULT '',
    status              TEXT NOT NULL,
    status_reason       TEXT NOT NULL DEFAULT '',
    rate_per_second     BIGINT NOT NULL DEFAULT 0,
    max_concurrency     BIGINT NOT NULL DEFAULT 16,
    timeout_ms          BIGINT NOT NULL DEFAULT 30000,
    circuit             TEXT NOT NULL DEFAULT 'closed',
    circuit_failures    BIGINT NOT NULL DEFAULT 0,
    circuit_opened_at   BIGINT,
    circuit_probe_at    BIGINT,
    config_version      BIGINT NOT NULL DEFAULT 1,
    created_at          BIGINT NOT NULL,
    updated_at          BIGINT NOT NULL
);
CREATE INDEX endpoint_partner ON endpoint (partner_id);

CREATE TABLE contract (
    id               TEXT PRIMARY KEY,
    kind             TEXT NOT NULL,
    title            TEXT NOT NULL,
    description      TEXT NOT NULL DEFAULT '',
    owner            TEXT NOT NULL DEFAULT '',
    owner_partner_id TEXT NOT NULL DEFAULT '',
    maintainer       TEXT NOT NULL DEFAULT '',
    contact_name     TEXT NOT NULL DEFAULT '',
    contact_email    TEXT NOT NULL DEFAULT '',
    classification   TEXT NOT NULL DEFAULT '',
    based_on         TEXT NOT NULL DEFAULT '',
    agreement        TEXT NOT NULL DEFAULT '',
    visibility       TEXT NOT NULL,
    created_at       BIGINT NOT NULL,
    created_by       TEXT NOT NULL DEFAULT '',
    updated_at       BIGINT NOT NULL
);

CREATE TABLE contract_version (
    id            TEXT PRIMARY KEY,
    contract_id   TEXT NOT NULL REFERENCES contract (id),
    version       TEXT NOT NULL,
    sort_key      TEXT NOT NULL,
    status        TEXT NOT NULL,
    spec_version  TEXT NOT NULL,
    format        TEXT NOT NULL,
    file_name     TEXT NOT NULL DEFAULT '',
    info_title    TEXT NOT NULL DEFAULT '',
    info_version  TEXT NOT NULL DEFAULT '',
    original      BLOB NOT NULL,
    size          BIGINT NOT NULL,
    digest        TEXT NOT NULL,
    findings      TEXT NOT NULL DEFAULT '[]',
    created_at    BIGINT NOT NULL,
    created_by    TEXT NOT NULL DEFAULT '',
    published_at  BIGINT,
    published_by  TEXT NOT NULL DEFAULT '',
    deprecated_at BIGINT,
    sunset_at     BIGINT,
    withdrawn_at  BIGINT,
    status_reason TEXT NOT NULL DEFAULT '',
    UNIQUE (contract_id, version)
);
CREATE INDEX contract_version_sort ON contract_version (contract_id, sort_key);

CREATE TABLE event_type (
    id                  TEXT PRIMARY KEY,
    name                TEXT NOT NULL,
    contract_id         TEXT NOT NULL REFERENCES contract (id),
    contract_version_id TEXT NOT NULL REFERENCES contract_version (id),
    contract_version    TEXT NOT NULL,
    sort_key            TEXT NOT NULL,
    message_name        TEXT NOT NULL DEFAULT '',
    title               TEXT NOT NULL DEFAULT '',
    summary             TEXT NOT NULL DEFAULT '',
    description         TEXT NOT NULL DEFAULT '',
    content_type        TEXT NOT NULL DEFAULT '',
    data_schema         TEXT NOT NULL DEFAULT '',
    example             TEXT NOT NULL DEFAULT '',
    status              TEXT NOT NULL,
    visibility          TEXT NOT NULL,
    created_at          BIGINT NOT NULL,
    UNIQUE (name, contract_version_id)
);
CREATE INDEX event_type_version ON event_type (contract_version_id);

CREATE TABLE subscription (
    id            TEXT PRIMARY KEY,
    partner_id    TEXT NOT NULL REFERENCES partner (id),
    endpoint_id   TEXT NOT NULL REFERENCES endpoint (id),
    name          TEXT NOT NULL DEFAULT '',
    purpose       TEXT NOT NULL DEFAULT '',
    filters       TEXT NOT NULL DEFAULT '',
    status        TEXT NOT NULL,
    status_reason TEXT NOT NULL DEFAULT '',
    -- Kept by every change of this row, its endpoint or its partner: may new events fan out to it, may attempts start.
    accepting     BOOLEAN NOT NULL DEFAULT FALSE,
    sending       BOOLEAN NOT NULL DEFAULT FALSE,
    created_at    BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL,
    decided_at    BIGINT,
    decided_by    TEXT NOT NULL DEFAULT ''
);
CREATE INDEX subscription_partner ON subscription (partner_id);
CREATE INDEX subscription_endpoint ON subscription (endpoint_id);
CREATE INDEX subscription_status ON subscription (status, created_at);

CREATE TABLE subscription_type (
    subscription_id TEXT NOT NULL REFERENCES subscription (id),
    event_type      TEXT NOT NULL,
    PRIMARY KEY (subscription_id, event_type)
);

-- What an administrator allowed to pass from one partner to another (guarantee G3).
CREATE TABLE route (
    id              TEXT PRIMARY KEY,
    from_partner_id TEXT NOT NULL REFERENCES partner (id),
    to_partner_id   TEXT NOT NULL REFERENCES partner (id),
    event_type      TEXT NOT NULL,
    created_at      BIGINT NOT NULL,
    created_by      TEXT NOT NULL DEFAULT '',
    UNIQUE (from_partner_id, to_partner_id, event_type)
);

CREATE TABLE event (
    id          TEXT PRIMARY KEY,
    partner_id  TEXT NOT NULL,
    client_id   TEXT NOT NULL,
    ce_id       TEXT NOT NULL,
    ce_source   TEXT NOT NULL,
    ce_type     TEXT NOT NULL,
    ce_subject  TEXT NOT NULL DEFAULT '',
    attributes  BLOB NOT NULL,
    data_kind   BIGINT NOT NULL,
    data        BLOB,
    test        BOOLEAN NOT NULL DEFAULT FALSE,
    accepted_at BIGINT NOT NULL
);
-- One event per client, source and id (guarantee G4); also finds an event by the id its producer gave it.
CREATE UNIQUE INDEX event_identity ON event (ce_id, ce_source, client_id);

CREATE TABLE idempotency_key (
    client_id     TEXT NOT NULL,
    operation     TEXT NOT NULL,
    key           TEXT NOT NULL,
    fingerprint   BLOB NOT NULL,
    status_code   BIGINT NOT NULL,
    response_body BLOB NOT NULL,
    created_at    BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL,
    PRIMARY KEY (client_id, operation, key)
);
CREATE INDEX idempotency_key_expiry ON idempotency_key (expires_at);

CREATE TABLE delivery (
    id              TEXT PRIMARY KEY,
    event_id        TEXT NOT NULL,
    subscription_id TEXT NOT NULL,
    endpoint_id     TEXT NOT NULL,
    partner_id      TEXT NOT NULL,
    event_type      TEXT NOT NULL,
    status          TEXT NOT NULL,
    reason          TEXT NOT NULL DEFAULT '',
    detail          TEXT NOT NULL DEFAULT '',
    attempts        BIGINT NOT NULL DEFAULT 0,
    -- Tries since the delivery was created or last resent; the schedule counts these.
    round           BIGINT NOT NULL DEFAULT 0,
    idempotency_key TEXT NOT NULL,
    key_expires_at  BIGINT NOT NULL,
    -- When the next try is due; while a node holds the delivery, when its lease ends. NULL when none will come.
    due_at          BIGINT,
    lease_owner     TEXT NOT NULL DEFAULT '',
    last_status     BIGINT NOT NULL DEFAULT 0,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    delivered_at    BIGINT
);
CREATE INDEX delivery_due ON delivery (endpoint_id, due_at) WHERE status IN ('pending', 'retrying');
CREATE INDEX delivery_attention ON delivery (status, updated_at) WHERE status IN ('held', 'dead');
CREATE INDEX delivery_event ON delivery (event_id);
CREATE INDEX delivery_partner ON delivery (partner_id, id);

CREATE TABLE attempt (
    id               TEXT PRIMARY KEY,
    delivery_id      TEXT NOT NULL,
    number           BIGINT NOT NULL,
    started_at       BIGINT NOT NULL,
    duration_us      BIGINT NOT NULL,
    url              TEXT NOT NULL DEFAULT '',
    request_headers  TEXT NOT NULL DEFAULT '',
    status_code      BIGINT NOT NULL DEFAULT 0,
    response_headers TEXT NOT NULL DEFAULT '',
    response_body    BLOB,
    error_kind       TEXT NOT NULL DEFAULT '',
    error            TEXT NOT NULL DEFAULT '',
    next_at          BIGINT
);
CREATE INDEX attempt_delivery ON attempt (delivery_id, number);

CREATE TABLE resend_job (
    id           TEXT PRIMARY KEY,
    partner_id   TEXT NOT NULL DEFAULT '',
    action       TEXT NOT NULL,
    filter       TEXT NOT NULL,
    reason       TEXT NOT NULL DEFAULT '',
    status       TEXT NOT NULL,
    total        BIGINT NOT NULL DEFAULT 0,
    done         BIGINT NOT NULL DEFAULT 0,
    refused      BIGINT NOT NULL DEFAULT 0,
    cursor       TEXT NOT NULL DEFAULT '',
    created_by   TEXT NOT NULL DEFAULT '',
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    finished_at  BIGINT
);

CREATE TABLE audit (
    id          TEXT PRIMARY KEY,
    at          BIGINT NOT NULL,
    actor_kind  TEXT NOT NULL,
    actor_id    TEXT NOT NULL DEFAULT '',
    actor_name  TEXT NOT NULL DEFAULT '',
    action      TEXT NOT NULL,
    object_kind TEXT NOT NULL DEFAULT '',
    object_id   TEXT NOT NULL DEFAULT '',
    object_name TEXT NOT NULL DEFAULT '',
    partner_id  TEXT NOT NULL DEFAULT '',
    detail      TEXT NOT NULL DEFAULT '{}'
);
CREATE INDEX audit_object ON audit (object_kind, object_id);
CREATE INDEX audit_partner ON audit (partner_id, id);

CREATE TABLE mail (
    id         TEXT PRIMARY KEY,
    recipient  TEXT NOT NULL,
    subject    TEXT NOT NULL,
    body       TEXT NOT NULL,
    status     TEXT NOT NULL,
    attempts   BIGINT NOT NULL DEFAULT 0,
    due_at     BIGINT,
    error      TEXT NOT NULL DEFAULT '',
    created_at BIGINT NOT NULL,
    sent_at    BIGINT
);
CREATE INDEX mail_due ON mail (due_at) WHERE status = 'pending';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
