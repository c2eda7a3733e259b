-- +goose Up
-- Which versions of an event type a subscription gets: those of one line, such as 1 or 0.3; empty for all.
ALTER TABLE subscription_type ADD COLUMN version TEXT NOT NULL DEFAULT '';

-- Whether an event of the type must have data. What was published before this was known does not ask for it.
ALTER TABLE event_type ADD COLUMN data_required BOOLEAN NOT NULL DEFAULT FALSE;

-- The versions of its contract that an event fits, with spaces between; empty when that is not known.
ALTER TABLE event ADD COLUMN contract_versions TEXT NOT NULL DEFAULT '';
ALTER TABLE quarantined_event ADD COLUMN contract_versions TEXT NOT NULL DEFAULT '';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
