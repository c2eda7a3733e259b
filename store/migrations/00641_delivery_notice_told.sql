-- +goose Up
-- Subscribers are told of held deliveries and dead letters by an event, when people are told by mail.
ALTER TABLE delivery_notice ADD COLUMN loud BOOLEAN NOT NULL DEFAULT FALSE; -- a delivery of an event that tells of no failed deliveries is among them
ALTER TABLE delivery_notice ADD COLUMN tell_since BIGINT; -- when the first of those became so that subscribers have to be told of
ALTER TABLE delivery_notice ADD COLUMN tell_at BIGINT; -- when people were told of those
CREATE INDEX delivery_notice_tell ON delivery_notice (tell_at) WHERE tell_at IS NOT NULL;
UPDATE delivery_notice SET loud = TRUE WHERE raised_at IS NOT NULL;

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
