-- +goose Up
-- The other token issuer (by its id in the configuration) whose tokens a client may use, and the name that it gives the client; both empty
-- for a client that has tokens of ours alone.
ALTER TABLE client ADD COLUMN external_issuer TEXT NOT NULL DEFAULT '';
ALTER TABLE client ADD COLUMN external_id TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX client_external ON client (external_issuer, external_id) WHERE external_id <> '';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
