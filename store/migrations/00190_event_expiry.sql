-- +goose Up
-- When the event of a delivery expires, from its extension expirytime; NULL when it does not. What has no such time is not in the
-- index, so that it costs the engine nothing.
ALTER TABLE delivery ADD COLUMN expires_at BIGINT;
CREATE INDEX delivery_expires ON delivery (expires_at) WHERE expires_at IS NOT NULL AND status IN ('pending', 'retrying', 'held');

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
