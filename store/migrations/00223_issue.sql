-- +goose Up
-- Failures of deliveries by endpoint and cause. One row each, however often it fails.
CREATE TABLE issue (
    id              TEXT PRIMARY KEY,
    partner_id      TEXT NOT NULL,
    endpoint_id     TEXT NOT NULL,
    cause           TEXT NOT NULL,
    status          TEXT NOT NULL,
    failures        BIGINT NOT NULL, -- failed attempts since first_at
    first_at        BIGINT NOT NULL,
    last_at         BIGINT NOT NULL,
    delivery_id     TEXT NOT NULL, -- of the newest failure: the sample
    detail          TEXT NOT NULL,
    acknowledged_by TEXT NOT NULL DEFAULT '',
    acknowledged_at BIGINT,
    resolved_by     TEXT NOT NULL DEFAULT '', -- empty when it was resolved by itself
    resolved_at     BIGINT,
    reopened        BIGINT NOT NULL DEFAULT 0, -- how many times
    UNIQUE (endpoint_id, cause)
);
CREATE INDEX issue_partner ON issue (partner_id, id);
CREATE INDEX issue_unresolved ON issue (endpoint_id) WHERE status <> 'resolved';

-- The cause of the last failed attempt of a delivery; empty while none failed.
ALTER TABLE delivery ADD COLUMN cause TEXT NOT NULL DEFAULT '';
-- What arrived at its first attempt never enters it.
CREATE INDEX delivery_cause ON delivery (endpoint_id, cause, status, id) WHERE status <> 'pending' AND status <> 'delivered' AND cause <> '';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
