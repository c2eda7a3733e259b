-- +goose Up
-- The language of the pages on which the account logged in last, for mails to who chose none. Empty: not known.
ALTER TABLE account ADD COLUMN last_language TEXT NOT NULL DEFAULT '';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
