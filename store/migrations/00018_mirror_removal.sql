-- +goose Up
-- A mirror that was removed stays as the origin of its copies.
ALTER TABLE mirror_source ADD COLUMN removed_at BIGINT;

-- What the source last said of a contract, so that our copy follows it and a text that a person wrote here stays.
ALTER TABLE mirror_contract ADD COLUMN origin_title TEXT NOT NULL DEFAULT '';
ALTER TABLE mirror_contract ADD COLUMN origin_description TEXT NOT NULL DEFAULT '';
UPDATE mirror_contract SET origin_title = (SELECT c.title FROM contract c WHERE c.id = mirror_contract.contract_id),
    origin_description = (SELECT c.description FROM contract c WHERE c.id = mirror_contract.contract_id);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
