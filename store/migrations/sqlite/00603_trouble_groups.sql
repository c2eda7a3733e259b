-- +goose Up
-- What needs attention is counted by endpoint, subscription and event type before all of it is resent. The indexes of it hold these, so that
-- ten thousand deliveries are counted without reading as many rows. None of them changes, and deliveries that are new or arrive are in neither.
DROP INDEX delivery_trouble;
CREATE INDEX delivery_trouble ON delivery (status, id, partner_id, endpoint_id, subscription_id, event_type)
    WHERE status <> 'pending' AND status <> 'delivered';
DROP INDEX delivery_partner_reason;
CREATE INDEX delivery_partner_reason ON delivery (partner_id, status, reason, id, endpoint_id, subscription_id, event_type)
    WHERE status <> 'pending' AND status <> 'delivered';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
