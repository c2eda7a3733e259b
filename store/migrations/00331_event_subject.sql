-- +goose Up
-- Events are looked for by their subject. Many have none.
CREATE INDEX event_subject ON event (ce_subject, id) WHERE ce_subject <> '';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
