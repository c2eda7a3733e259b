-- +goose Up
-- A version that was uploaded as a zip: the one document made of its files, and what it holds. What was uploaded stays in
-- original. All are empty for a document that was uploaded by itself.
ALTER TABLE contract_version ADD COLUMN bundle BLOB;
ALTER TABLE contract_version ADD COLUMN bundle_digest TEXT NOT NULL DEFAULT '';
ALTER TABLE contract_version ADD COLUMN files TEXT NOT NULL DEFAULT '';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
