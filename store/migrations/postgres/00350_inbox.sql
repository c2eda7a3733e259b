-- +goose Up
-- What test inboxes received: the newest hundred of each, for a week. An endpoint of kind inbox answers with inbox_answer.
ALTER TABLE endpoint ADD COLUMN inbox_answer TEXT NOT NULL DEFAULT '';
CREATE TABLE inbox_message (
    id              TEXT PRIMARY KEY,
    endpoint_id     TEXT NOT NULL,
    received_at     BIGINT NOT NULL,
    event_type      TEXT NOT NULL DEFAULT '',
    idempotency_key TEXT NOT NULL,
    headers         TEXT NOT NULL,
    body            BYTEA NOT NULL, -- its beginning when it is shorter than size
    size            BIGINT NOT NULL,
    answer          TEXT NOT NULL,
    findings        TEXT NOT NULL DEFAULT '[]'
);
CREATE INDEX inbox_message_endpoint ON inbox_message (endpoint_id, id);
CREATE INDEX inbox_message_received ON inbox_message (received_at);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
