-- +goose Up
-- When the receiver of an endpoint sent what no request asked for; since then each request has a connection of its own.
ALTER TABLE endpoint ADD COLUMN unasked_at BIGINT;

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
