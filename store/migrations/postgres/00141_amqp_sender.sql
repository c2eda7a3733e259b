-- +goose Up
-- A messageId is unique for its sender alone: two senders may use the same one (AMQP-105). Senders that nobody knows may use the
-- same one for different messages.
DROP INDEX amqp_message_in;
CREATE UNIQUE INDEX amqp_message_in ON amqp_message (own_party_id, queue, her, message_id, content_digest) WHERE direction = 'in';

-- The correlationId as it stood in the message, with its AMQP type; NULL when correlation_id says all of it (AMQP-24).
ALTER TABLE amqp_message ADD COLUMN correlation BYTEA;
-- The CPA that the message named, or its process (AMQP-27).
ALTER TABLE amqp_message ADD COLUMN cpa_id TEXT NOT NULL DEFAULT '';
-- SHA-256 of the business document in hexadecimal: other content under a known MsgId is seen by it (AMQP-116).
ALTER TABLE amqp_message ADD COLUMN digest TEXT NOT NULL DEFAULT '';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
