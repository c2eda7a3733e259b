-- +goose Up
-- What waits for one subscription, in the order in which it is due: pull consumers ask for it all the time, and an
-- endpoint with several subscriptions must not make one of them pass over what waits for the others.
CREATE INDEX delivery_subscription ON delivery (subscription_id, due_at) WHERE status IN ('pending', 'retrying');
-- What pull consumers hold, by when their leases end.
CREATE INDEX delivery_leased ON delivery (due_at) WHERE status IN ('pending', 'retrying') AND lease_owner LIKE 'lck%';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
