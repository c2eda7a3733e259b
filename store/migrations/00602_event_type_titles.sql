-- +goose Up
-- Titles of event types in other languages, as their contract gives them: a JSON object by language; empty for none.
ALTER TABLE event_type ADD COLUMN titles TEXT NOT NULL DEFAULT '';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
