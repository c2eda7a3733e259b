-- +goose Up
-- What is known of how long messages live in the queues that we read: those that must never expire (AMQP-42, INC-22).
CREATE TABLE amqp_queue (
    broker_id   TEXT NOT NULL REFERENCES amqp_broker (id),
    name        TEXT NOT NULL,
    party_id    TEXT NOT NULL,
    known       BOOLEAN NOT NULL, -- whether the broker tells its arguments
    ttl_ms      BIGINT NOT NULL, -- after which a message expires; 0 for never
    expires_ms  BIGINT NOT NULL, -- without readers, after which the queue is removed; 0 for never
    expired_at  BIGINT, -- when a message that expired in it was last found among the dead letters
    seen_at     BIGINT NOT NULL,
    notified_at BIGINT,
    PRIMARY KEY (broker_id, name)
);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
