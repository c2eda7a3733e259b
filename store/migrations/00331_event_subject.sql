-- +goose Up
-- Events are looked for by their subject. Many have none; an index of PostgreSQL cannot hold a long one.
CREATE INDEX event_subject ON event (substr(ce_subject, 1, 100), id) WHERE ce_subject <> '';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
