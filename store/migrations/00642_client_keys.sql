-- +goose Up
-- Other keys of a client that wait for an administrator, as JSON with the members jwks, jwksUri and secretHash; the ones it has go on meanwhile.
-- Empty: none wait.
ALTER TABLE client ADD COLUMN requested_keys TEXT NOT NULL DEFAULT '';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
