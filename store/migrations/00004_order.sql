-- +goose Up
-- The context attribute by whose value a subscription wants its events in order, and that value on each delivery.
ALTER TABLE subscription ADD COLUMN order_by TEXT NOT NULL DEFAULT '';
ALTER TABLE delivery ADD COLUMN order_key TEXT NOT NULL DEFAULT '';
CREATE INDEX delivery_order ON delivery (subscription_id, order_key, id)
    WHERE order_key <> '' AND status IN ('pending', 'retrying', 'held');

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
