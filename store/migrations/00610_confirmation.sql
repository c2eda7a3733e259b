-- +goose Up
-- Actions of one person that take effect when a second person confirms them. Of one action on one object one waits at a time.
CREATE TABLE confirmation (
    id           TEXT PRIMARY KEY,
    kind         TEXT NOT NULL, -- approvals, routes, discards, settings or destinations
    action       TEXT NOT NULL, -- what is done once it is confirmed, such as partner.approve
    object_kind  TEXT NOT NULL,
    object_id    TEXT NOT NULL,
    object_name  TEXT NOT NULL,
    partner_id   TEXT NOT NULL DEFAULT '',
    args         TEXT NOT NULL, -- JSON: what the action needs besides the object
    fingerprint  TEXT NOT NULL, -- of what the action is about as it was when it was asked
    changes      TEXT NOT NULL, -- JSON list of messages: what it does, in words
    reason       TEXT NOT NULL,
    asked_by     TEXT NOT NULL, -- an account
    asked_name   TEXT NOT NULL,
    asked_email  TEXT NOT NULL,
    asked_at     BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    status       TEXT NOT NULL, -- waiting, confirmed, declined, withdrawn, expired or stale
    decided_by   TEXT NOT NULL DEFAULT '', -- an account; empty when nobody decided
    decided_name TEXT NOT NULL DEFAULT '',
    decided_at   BIGINT,
    outcome      TEXT NOT NULL DEFAULT '' -- why it was declined, or what made it stale
);
CREATE UNIQUE INDEX confirmation_waiting ON confirmation (action, object_id) WHERE status = 'waiting';
CREATE INDEX confirmation_status ON confirmation (status, expires_at);
CREATE INDEX confirmation_object ON confirmation (object_id);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
