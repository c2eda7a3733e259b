-- The language in which someone reads the portal, and the time zone; empty follows the browser and the organisation.

-- +goose Up
ALTER TABLE account ADD COLUMN language TEXT NOT NULL DEFAULT '';
ALTER TABLE account ADD COLUMN time_zone TEXT NOT NULL DEFAULT '';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
