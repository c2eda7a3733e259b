-- +goose Up
-- Data that is too large to travel inside its event (claim check): kept in pieces, so that no transaction is long. An object
-- without an owner is on its way in; the owner is the event, or the quarantined request, that refers to it.
CREATE TABLE object (
    id           TEXT PRIMARY KEY,
    owner_id     TEXT NOT NULL DEFAULT '',
    partner_id   TEXT NOT NULL,
    client_id    TEXT NOT NULL,
    content_type TEXT NOT NULL DEFAULT '',
    size         BIGINT NOT NULL,
    digest       BLOB NOT NULL,
    created_at   BIGINT NOT NULL,
    -- When the bytes were removed; the row stays a while to say so.
    gone_at      BIGINT
);
CREATE INDEX object_owner ON object (owner_id);

CREATE TABLE object_chunk (
    object_id TEXT NOT NULL,
    number    BIGINT NOT NULL,
    data      BLOB NOT NULL,
    PRIMARY KEY (object_id, number)
);

-- Who had got an object when its deliveries were removed: they are told that it is gone.
CREATE TABLE object_reader (
    object_id  TEXT NOT NULL,
    partner_id TEXT NOT NULL,
    PRIMARY KEY (object_id, partner_id)
);

-- Requests that used an Idempotency-Key again with other content, kept aside until a person decides (error E11).
CREATE TABLE quarantine (
    id              TEXT PRIMARY KEY,
    partner_id      TEXT NOT NULL,
    client_id       TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    fingerprint     BLOB NOT NULL,
    -- What the first request under the key was answered.
    first_answer    BLOB NOT NULL,
    -- The key under which the events are accepted when they are released, so that this happens once.
    release_key     TEXT NOT NULL,
    status          TEXT NOT NULL,
    reason          TEXT NOT NULL DEFAULT '',
    events          BIGINT NOT NULL,
    created_at      BIGINT NOT NULL,
    decided_at      BIGINT,
    decided_by      TEXT NOT NULL DEFAULT '',
    UNIQUE (client_id, idempotency_key, fingerprint)
);
CREATE INDEX quarantine_status ON quarantine (status, id);

CREATE TABLE quarantined_event (
    quarantine_id TEXT NOT NULL,
    position      BIGINT NOT NULL,
    attributes    BLOB NOT NULL,
    data_kind     BIGINT NOT NULL,
    data          BLOB,
    object_id     TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (quarantine_id, position)
);

-- Whether repeated events are left out for a subscription, and which (source, id) it was handed: the first 16 bytes of a
-- SHA-256 (EDU-18b).
ALTER TABLE subscription ADD COLUMN dedupe BOOLEAN NOT NULL DEFAULT FALSE;
CREATE TABLE handed_identity (
    subscription_id TEXT NOT NULL,
    identity        TEXT NOT NULL,
    seen_at         BIGINT NOT NULL,
    PRIMARY KEY (subscription_id, identity)
);
CREATE INDEX handed_identity_seen ON handed_identity (seen_at);

-- Events that a subscription did not get again.
CREATE TABLE left_out (
    id              TEXT PRIMARY KEY,
    event_id        TEXT NOT NULL,
    subscription_id TEXT NOT NULL,
    partner_id      TEXT NOT NULL
);
CREATE INDEX left_out_event ON left_out (event_id);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
