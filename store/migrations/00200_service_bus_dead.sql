-- +goose Up
-- On Azure Service Bus there is no queue HER-id_dl unless somebody makes one: every queue has its dead letters below itself.
UPDATE amqp_party SET dead_queue = async_queue || '/$DeadLetterQueue'
WHERE own AND her_id > 0 AND async_queue <> '' AND dead_queue = CAST(her_id AS TEXT) || '_dl'
    AND broker_id IN (SELECT id FROM amqp_broker WHERE dialect = 'servicebus');

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
