-- +goose Up
-- The client certificates that an endpoint is shown, newest first, as JSON with their sealed keys; empty for none.
ALTER TABLE endpoint ADD COLUMN certificates TEXT NOT NULL DEFAULT '';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
