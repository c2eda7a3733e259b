-- +goose Up
-- Signatures of requests to an endpoint: the scheme, or empty for none; the keys with their sealed secrets, newest first, as JSON; and how
-- long the one before signs beside a new one.
ALTER TABLE endpoint ADD COLUMN sign_scheme TEXT NOT NULL DEFAULT '';
ALTER TABLE endpoint ADD COLUMN sign_keys TEXT NOT NULL DEFAULT '';
ALTER TABLE endpoint ADD COLUMN sign_overlap_hours BIGINT NOT NULL DEFAULT 0;

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
