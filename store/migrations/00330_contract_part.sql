-- +goose Up
-- The operations, channels, messages and schemas of published contract versions, for the search of the portal. Words has what they
-- are found by, in lower case, and anchor names them in the reading view. A version without a row in contract_parts_read was not read yet.
CREATE TABLE contract_part (
	contract_version_id TEXT NOT NULL REFERENCES contract_version (id) ON DELETE CASCADE,
	ordinal BIGINT NOT NULL,
	kind TEXT NOT NULL,
	name TEXT NOT NULL,
	summary TEXT NOT NULL,
	anchor TEXT NOT NULL,
	words TEXT NOT NULL,
	PRIMARY KEY (contract_version_id, ordinal)
);
CREATE TABLE contract_parts_read (
	contract_version_id TEXT NOT NULL PRIMARY KEY REFERENCES contract_version (id) ON DELETE CASCADE
);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
