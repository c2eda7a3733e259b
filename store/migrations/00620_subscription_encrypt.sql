-- +goose Up
-- Whom the data of a subscription's events is encrypted for, a JWK set or the address of one, or empty; and the sealed secret that what is random in
-- it is derived from, so that a repeat has the same bytes.
ALTER TABLE subscription ADD COLUMN encrypt TEXT NOT NULL DEFAULT '';
ALTER TABLE subscription ADD COLUMN encrypt_seed TEXT NOT NULL DEFAULT '';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
