-- +goose Up
-- A message that waits for a person is stored as it was received, and nothing that waits goes unnoticed.
ALTER TABLE amqp_message ADD COLUMN content_digest TEXT NOT NULL DEFAULT ''; -- of a quarantined message: SHA-256 of its content, hex
ALTER TABLE amqp_message ADD COLUMN asked TEXT NOT NULL DEFAULT ''; -- JSON: what a person asked to be done with it, with others
ALTER TABLE amqp_message ADD COLUMN asked_at BIGINT; -- when that is done, or until when a node does it
ALTER TABLE amqp_message ADD COLUMN notified_at BIGINT; -- when the administrators were told that it waits for them
-- Of these the bytes were not stored: the same message is to be taken when it comes again.
UPDATE amqp_message SET content_digest = 'none:' || id WHERE status = 'quarantined' AND encoded IS NULL;
UPDATE amqp_message SET notified_at = updated_at WHERE status IN ('dead', 'quarantined') OR overdue_at IS NOT NULL;
-- A discarded delivery and the message it was sent as are one piece of work.
UPDATE amqp_message SET status = 'dropped' WHERE direction = 'out' AND status IN ('sending', 'failed', 'unsent', 'unanswered', 'rejected')
    AND delivery_id IN (SELECT id FROM delivery WHERE status = 'discarded');
CREATE INDEX amqp_message_asked ON amqp_message (asked_at) WHERE asked <> '';
CREATE INDEX amqp_message_unnoticed ON amqp_message (status, her) WHERE notified_at IS NULL AND status IN ('dead', 'quarantined', 'held', 'open', 'unchecked', 'due', 'unsent', 'duplicate');
CREATE INDEX amqp_message_noticed ON amqp_message (her, queue, notified_at) WHERE notified_at IS NOT NULL;

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
