-- +goose Up
-- What receivers hold by a lock. The condition is looked at for every delivery that is written: two comparisons cost less than LIKE.
DROP INDEX delivery_leased;
CREATE INDEX delivery_leased ON delivery (due_at) WHERE lease_owner > 'lck' AND lease_owner < 'lcl' AND status IN ('pending', 'retrying');

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
