-- +goose Up
-- Which endpoints have held deliveries and dead letters that people were not told of yet, and when they were told last: one row
-- for each endpoint and state. Whoever makes a delivery held or dead raises it in the same transaction.
CREATE TABLE delivery_notice (
    endpoint_id TEXT COLLATE "C" NOT NULL,
    status      TEXT COLLATE "C" NOT NULL,
    raised_at   BIGINT,
    notified_at BIGINT,
    PRIMARY KEY (endpoint_id, status)
);
-- What is there already is told of once.
INSERT INTO delivery_notice (endpoint_id, status, raised_at)
    SELECT endpoint_id, status, MAX(updated_at) FROM delivery
    WHERE status IN ('held', 'dead') AND status <> 'pending' AND status <> 'delivered' GROUP BY endpoint_id, status;
CREATE INDEX delivery_notice_raised ON delivery_notice (raised_at) WHERE raised_at IS NOT NULL;

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
