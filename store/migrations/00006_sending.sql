-- +goose Up
-- How a subscription is retried, as JSON; empty is as the settings of the chain say.
ALTER TABLE subscription ADD COLUMN retry TEXT NOT NULL DEFAULT '';

-- When an endpoint may be sent to, as JSON; empty is always.
ALTER TABLE endpoint ADD COLUMN windows TEXT NOT NULL DEFAULT '';
-- How many events and bytes it takes in one request, and how long a batch waits to be filled; 0 events is no batches.
ALTER TABLE endpoint ADD COLUMN batch_events BIGINT NOT NULL DEFAULT 0;
ALTER TABLE endpoint ADD COLUMN batch_bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE endpoint ADD COLUMN batch_wait_ms BIGINT NOT NULL DEFAULT 0;
-- On what that rests: the contract of the receiver, or its word alone.
ALTER TABLE endpoint ADD COLUMN contract_id TEXT NOT NULL DEFAULT '';
ALTER TABLE endpoint ADD COLUMN contract_version TEXT NOT NULL DEFAULT '';
ALTER TABLE endpoint ADD COLUMN batch_stated BOOLEAN NOT NULL DEFAULT FALSE;

-- Deliveries that go in one request, in the order of members. Written before the first send and never changed, so that
-- a retry is the same to the byte under the same key (IDEM-11); reason says why it was taken apart, if it was.
CREATE TABLE delivery_batch (
    id              TEXT PRIMARY KEY,
    endpoint_id     TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    key_expires_at  BIGINT NOT NULL,
    members         TEXT NOT NULL,
    size            BIGINT NOT NULL,
    reason          TEXT NOT NULL DEFAULT '',
    created_at      BIGINT NOT NULL
);
ALTER TABLE delivery ADD COLUMN batch_id TEXT NOT NULL DEFAULT '';
-- It goes by itself, whatever its endpoint takes: its batch was taken apart, or a person resent it.
ALTER TABLE delivery ADD COLUMN alone BOOLEAN NOT NULL DEFAULT FALSE;
-- The batch an attempt was made with. What was sent and what came back stands with the first member's attempt.
ALTER TABLE attempt ADD COLUMN batch_id TEXT NOT NULL DEFAULT '';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
