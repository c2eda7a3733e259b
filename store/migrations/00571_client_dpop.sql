-- +goose Up
-- dpop_bound gives a client tokens that work with a proof of its key alone (RFC 9449).
ALTER TABLE client ADD COLUMN dpop_bound BOOLEAN NOT NULL DEFAULT FALSE;

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
