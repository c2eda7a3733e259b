-- +goose Up
-- The headers of the answer that is kept with an Idempotency-Key, as a JSON object of lists; empty when it has none.
ALTER TABLE idempotency_key ADD COLUMN response_headers TEXT NOT NULL DEFAULT '';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
