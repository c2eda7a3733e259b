-- +goose Up
-- The first delivery of each order key that is not done with: the smallest id that is pending, retrying or held. A delivery
-- behind it may not be claimed; the index of what is due leaves those out, so that a claim does not read a backlog.
ALTER TABLE delivery ADD COLUMN behind BOOLEAN NOT NULL DEFAULT FALSE;
CREATE TABLE order_head (
    subscription_id TEXT NOT NULL,
    order_key       TEXT NOT NULL,
    head            TEXT NOT NULL,
    PRIMARY KEY (subscription_id, order_key)
);
INSERT INTO order_head (subscription_id, order_key, head)
    SELECT subscription_id, order_key, MIN(id) FROM delivery
    WHERE order_key <> '' AND status IN ('pending', 'retrying', 'held') GROUP BY subscription_id, order_key;
UPDATE delivery SET behind = TRUE
    WHERE order_key <> '' AND status IN ('pending', 'retrying', 'held')
    AND id <> (SELECT h.head FROM order_head h WHERE h.subscription_id = delivery.subscription_id AND h.order_key = delivery.order_key);
DROP INDEX delivery_due;
CREATE INDEX delivery_due ON delivery (endpoint_id, behind, due_at) WHERE status IN ('pending', 'retrying');
DROP INDEX delivery_subscription;
CREATE INDEX delivery_subscription ON delivery (subscription_id, behind, due_at) WHERE status IN ('pending', 'retrying');

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
