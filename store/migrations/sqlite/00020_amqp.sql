-- +goose Up
-- Message brokers by which messages are exchanged over AMQP 1.0. No queue on them is ever declared by us (AMQP-46).
CREATE TABLE amqp_broker (
    id          TEXT PRIMARY KEY,
    name        TEXT NOT NULL UNIQUE,
    dialect     TEXT NOT NULL, -- rabbitmq4, rabbitmq310 or servicebus
    url         TEXT NOT NULL, -- amqp:// or amqps://
    namespace   TEXT NOT NULL DEFAULT '', -- as the address registry writes it before a queue
    sasl        TEXT NOT NULL, -- plain, external or anonymous
    username    TEXT NOT NULL DEFAULT '',
    secret      TEXT NOT NULL DEFAULT '', -- sealed
    ca          TEXT NOT NULL DEFAULT '', -- PEM; empty for the system's
    certificate TEXT NOT NULL DEFAULT '', -- PEM, of ours
    private_key TEXT NOT NULL DEFAULT '', -- sealed
    enabled     BOOLEAN NOT NULL,
    created_at  BIGINT NOT NULL,
    created_by  TEXT NOT NULL DEFAULT '',
    updated_at  BIGINT NOT NULL
);

-- Who exchanges messages: own parties, whose queues we read, and those of partners, to whose queues we write.
CREATE TABLE amqp_party (
    id             TEXT PRIMARY KEY,
    partner_id     TEXT NOT NULL REFERENCES partner (id),
    endpoint_id    TEXT NOT NULL DEFAULT '', -- of a partner's party: where its subscriptions deliver
    broker_id      TEXT NOT NULL REFERENCES amqp_broker (id),
    own            BOOLEAN NOT NULL,
    kind           TEXT NOT NULL, -- health or cloudevents
    name           TEXT NOT NULL,
    her_id         BIGINT NOT NULL DEFAULT 0,
    parent_her_id  BIGINT NOT NULL DEFAULT 0,
    async_queue    TEXT NOT NULL DEFAULT '', -- as registered
    sync_queue     TEXT NOT NULL DEFAULT '',
    reply_queue    TEXT NOT NULL DEFAULT '', -- of an own party: where answers to synchronous requests come
    error_queue    TEXT NOT NULL DEFAULT '',
    dead_queue     TEXT NOT NULL DEFAULT '',
    inbound_queue  TEXT NOT NULL DEFAULT '', -- of a cloudevents party: where we read what it sends
    client_id      TEXT NOT NULL DEFAULT '', -- of a cloudevents party: whose rights hold for what it sends
    content_mode   TEXT NOT NULL DEFAULT '', -- of a cloudevents party: structured or binary
    answer_wait_ms BIGINT NOT NULL DEFAULT 0, -- after which an AppRec is overdue (AMQP-117)
    apprec_version TEXT NOT NULL DEFAULT '', -- 1.0 or 1.1; empty follows the message
    source         TEXT NOT NULL DEFAULT '', -- entered, cpa or registry
    enabled        BOOLEAN NOT NULL,
    refreshed_at   BIGINT, -- when the address registry was last asked
    created_at     BIGINT NOT NULL,
    created_by     TEXT NOT NULL DEFAULT '',
    updated_at     BIGINT NOT NULL
);
CREATE UNIQUE INDEX amqp_party_her ON amqp_party (her_id) WHERE her_id > 0;
CREATE UNIQUE INDEX amqp_party_endpoint ON amqp_party (endpoint_id) WHERE endpoint_id <> '';
CREATE INDEX amqp_party_partner ON amqp_party (partner_id);

-- The enterprise certificates of parties; the private keys of own ones.
CREATE TABLE amqp_certificate (
    id          TEXT PRIMARY KEY,
    party_id    TEXT NOT NULL REFERENCES amqp_party (id),
    purpose     TEXT NOT NULL, -- sign or encrypt
    thumbprint  TEXT NOT NULL, -- SHA-1, upper-case hex
    certificate TEXT NOT NULL, -- PEM, with its chain
    private_key TEXT NOT NULL DEFAULT '', -- sealed
    subject     TEXT NOT NULL,
    not_before  BIGINT NOT NULL,
    not_after   BIGINT NOT NULL,
    source      TEXT NOT NULL, -- entered, cpa or registry
    created_at  BIGINT NOT NULL,
    UNIQUE (party_id, purpose, thumbprint)
);

-- What a counterpart and an own party do together (AMQP-09): a message of which kind goes how.
CREATE TABLE amqp_process (
    id            TEXT PRIMARY KEY,
    party_id      TEXT NOT NULL REFERENCES amqp_party (id), -- the counterpart
    own_party_id  TEXT NOT NULL REFERENCES amqp_party (id),
    name          TEXT NOT NULL,
    subject       TEXT NOT NULL, -- code of list 8279 (AMQP-21)
    mode          TEXT NOT NULL, -- async or sync
    service       TEXT NOT NULL DEFAULT '',
    action        TEXT NOT NULL DEFAULT '',
    from_role     TEXT NOT NULL DEFAULT '', -- ours
    to_role       TEXT NOT NULL DEFAULT '', -- theirs
    cpa_id        TEXT NOT NULL DEFAULT '',
    sends         TEXT NOT NULL DEFAULT '', -- event type that goes out by this process, or empty
    receives      TEXT NOT NULL DEFAULT '', -- event type of what comes in by it, or empty
    handler_id    TEXT NOT NULL DEFAULT '', -- endpoint that answers synchronous requests
    source        TEXT NOT NULL DEFAULT '',
    created_at    BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL
);
CREATE INDEX amqp_process_party ON amqp_process (party_id, own_party_id);

-- Every message that was written or read, and what became of it.
CREATE TABLE amqp_message (
    id              TEXT PRIMARY KEY,
    direction       TEXT NOT NULL, -- in or out
    kind            TEXT NOT NULL, -- business, apprec, error, request, answer or event
    status          TEXT NOT NULL,
    reason          TEXT NOT NULL DEFAULT '', -- a code
    detail          TEXT NOT NULL DEFAULT '', -- for people
    codes           TEXT NOT NULL DEFAULT '[]', -- JSON array of the errors of an AppRec or the data of an AMQP error
    own_party_id    TEXT NOT NULL DEFAULT '',
    party_id        TEXT NOT NULL DEFAULT '', -- the counterpart, when it is known
    partner_id      TEXT NOT NULL DEFAULT '',
    own_her         BIGINT NOT NULL DEFAULT 0,
    her             BIGINT NOT NULL DEFAULT 0,
    message_id      TEXT NOT NULL,
    correlation_id  TEXT NOT NULL DEFAULT '',
    conversation_id TEXT NOT NULL DEFAULT '',
    subject         TEXT NOT NULL DEFAULT '',
    msg_id          TEXT NOT NULL DEFAULT '', -- MsgHead/MsgInfo/MsgId
    queue           TEXT NOT NULL DEFAULT '', -- where it was read or is written
    reference_id    TEXT NOT NULL DEFAULT '', -- the message this one answers
    event_id        TEXT NOT NULL DEFAULT '',
    delivery_id     TEXT NOT NULL DEFAULT '',
    resends         BIGINT NOT NULL DEFAULT 0, -- identical ones (AMQP-118)
    attempts        BIGINT NOT NULL DEFAULT 0,
    due_at          BIGINT, -- of an answer that waits: when it is tried; of an open message: when its AppRec is overdue
    overdue_at      BIGINT, -- since when it is known to be overdue
    encoded         BLOB, -- what is still to be written; of a dead letter the bare AMQP message
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL
);
CREATE UNIQUE INDEX amqp_message_in ON amqp_message (own_party_id, queue, message_id) WHERE direction = 'in';
CREATE UNIQUE INDEX amqp_message_answer ON amqp_message (message_id) WHERE direction = 'out';
-- The same business message is handled once (AMQP-116).
CREATE UNIQUE INDEX amqp_message_business ON amqp_message (own_party_id, her, msg_id)
    WHERE direction = 'in' AND kind = 'business' AND status IN ('processed', 'rejected');
CREATE INDEX amqp_message_msg ON amqp_message (msg_id) WHERE msg_id <> '';
CREATE INDEX amqp_message_status ON amqp_message (status, due_at);
CREATE INDEX amqp_message_delivery ON amqp_message (delivery_id) WHERE delivery_id <> '';
CREATE INDEX amqp_message_reference ON amqp_message (reference_id) WHERE reference_id <> '';
CREATE INDEX amqp_message_correlation ON amqp_message (correlation_id) WHERE correlation_id <> '';

-- Who wrote and read a message when (AMQP-15).
CREATE TABLE amqp_trace (
    id         TEXT PRIMARY KEY,
    message_id TEXT NOT NULL REFERENCES amqp_message (id),
    step       TEXT NOT NULL, -- read, checked, kept, answered, settled, written, ...
    detail     TEXT NOT NULL DEFAULT '',
    node       TEXT NOT NULL DEFAULT '',
    at         BIGINT NOT NULL
);
CREATE INDEX amqp_trace_message ON amqp_trace (message_id, id);

-- What each node knows of its connection to a broker.
CREATE TABLE amqp_connection (
    broker_id  TEXT NOT NULL REFERENCES amqp_broker (id),
    node       TEXT NOT NULL,
    phase      TEXT NOT NULL, -- connecting, open, waiting or stopped
    detail     TEXT NOT NULL DEFAULT '',
    reconnects BIGINT NOT NULL DEFAULT 0,
    since      BIGINT NOT NULL,
    seen_at    BIGINT NOT NULL,
    PRIMARY KEY (broker_id, node)
);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
