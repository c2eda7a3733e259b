-- +goose Up
-- Lists of messages of a state, newest first, also of one sender; the state's entries are read in their order and no further than
-- the page. Conversations are found as messageIds are.
CREATE INDEX amqp_message_list ON amqp_message (status, id);
CREATE INDEX amqp_message_her ON amqp_message (status, her, id);
CREATE INDEX amqp_message_id ON amqp_message (message_id);
CREATE INDEX amqp_message_conversation ON amqp_message (conversation_id) WHERE conversation_id <> '';
CREATE INDEX audit_action ON audit (action, id);
CREATE INDEX audit_actor ON audit (actor_id, id);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
