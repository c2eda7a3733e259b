-- +goose Up
-- The keys that encrypt the data of events and messages, one a partner at a time, sealed by the vault. A key that was erased leaves its row
-- behind: what it encrypted can never be read again. Rows of data name the keys that they are encrypted with, separated by spaces;
-- none is data in the clear.
CREATE TABLE data_key (
	id         TEXT PRIMARY KEY,
	partner_id TEXT NOT NULL,
	sealed     TEXT NOT NULL, -- empty once it is erased
	created_at BIGINT NOT NULL,
	erased_at  BIGINT
);
CREATE UNIQUE INDEX data_key_partner ON data_key (partner_id) WHERE erased_at IS NULL;
ALTER TABLE event ADD COLUMN data_key TEXT NOT NULL DEFAULT '';
ALTER TABLE attempt ADD COLUMN data_key TEXT NOT NULL DEFAULT '';
ALTER TABLE object ADD COLUMN data_key TEXT NOT NULL DEFAULT '';
ALTER TABLE quarantined_event ADD COLUMN data_key TEXT NOT NULL DEFAULT '';
ALTER TABLE inbox_message ADD COLUMN data_key TEXT NOT NULL DEFAULT '';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
