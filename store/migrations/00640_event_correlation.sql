-- +goose Up
-- Events are looked for by their extension attribute correlationid, which few have: the others cost nothing. Events that were accepted
-- before this are not found by it.
ALTER TABLE event ADD COLUMN correlation TEXT NOT NULL DEFAULT '';
CREATE INDEX event_correlation ON event (substr(correlation, 1, 100), id) WHERE correlation <> '';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
