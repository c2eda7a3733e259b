-- +goose Up
-- The deliveries of a partner by state, newest first: a list of any state reads its page alone, whatever the number of the others.
DROP INDEX delivery_partner;
CREATE INDEX delivery_partner ON delivery (partner_id, status, id);

-- What needs attention, newest first, and by kind of error. Deliveries that are new or arrive are in none of these indexes, so
-- that they cost the engine nothing. SQLite uses them only for queries with this very condition.
CREATE INDEX delivery_trouble ON delivery (status, id) WHERE status <> 'pending' AND status <> 'delivered';
CREATE INDEX delivery_reason ON delivery (status, reason, id) WHERE status <> 'pending' AND status <> 'delivered';
CREATE INDEX delivery_partner_reason ON delivery (partner_id, status, reason, id) WHERE status <> 'pending' AND status <> 'delivered';
DROP INDEX delivery_discarded;
DROP INDEX delivery_attention;

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
