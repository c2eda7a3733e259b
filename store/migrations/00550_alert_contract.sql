-- +goose Up
-- Partners cannot use the events about the installation, which are for the own organisation: their catalogue had them.
UPDATE contract SET visibility = 'internal' WHERE id = 'schakel-alert-events' AND visibility = 'public';
UPDATE event_type SET visibility = 'internal' WHERE contract_id = 'schakel-alert-events' AND visibility = 'public';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
