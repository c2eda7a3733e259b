-- +goose Up
-- When the next probe of an open circuit would have gone, had nobody asked for one at once; NULL when nobody did. From it follows when
-- the probe before it was, and so whether people were told of the outage already.
ALTER TABLE endpoint ADD COLUMN circuit_planned_at BIGINT;

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
