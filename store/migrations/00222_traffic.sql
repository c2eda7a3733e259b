-- +goose Up
-- Counts of what moved, by endpoint and by minute, quarter of an hour and hour (span, in seconds), so that charts read some hundred
-- rows and never deliveries. The rows without an endpoint are of all endpoints together.
CREATE TABLE traffic (
    endpoint_id TEXT NOT NULL,
    span        BIGINT NOT NULL,
    at          BIGINT NOT NULL,            -- when the span begins
    accepted    BIGINT NOT NULL DEFAULT 0,  -- events; only without an endpoint
    made        BIGINT NOT NULL DEFAULT 0,  -- new deliveries
    delivered   BIGINT NOT NULL DEFAULT 0,
    failed      BIGINT NOT NULL DEFAULT 0,  -- attempts
    dead        BIGINT NOT NULL DEFAULT 0,
    pending     BIGINT NOT NULL DEFAULT -1, -- the most that waited when it was sampled; -1 when it was not
    oldest      BIGINT NOT NULL DEFAULT 0,  -- how long the oldest of them had waited, at most, in microseconds
    -- Deliveries that arrived, by how long that took since they were accepted; the bounds stand in store/traffic.go.
    l0 BIGINT NOT NULL DEFAULT 0, l1 BIGINT NOT NULL DEFAULT 0, l2 BIGINT NOT NULL DEFAULT 0, l3 BIGINT NOT NULL DEFAULT 0,
    l4 BIGINT NOT NULL DEFAULT 0, l5 BIGINT NOT NULL DEFAULT 0, l6 BIGINT NOT NULL DEFAULT 0, l7 BIGINT NOT NULL DEFAULT 0,
    l8 BIGINT NOT NULL DEFAULT 0, l9 BIGINT NOT NULL DEFAULT 0, l10 BIGINT NOT NULL DEFAULT 0, l11 BIGINT NOT NULL DEFAULT 0,
    l12 BIGINT NOT NULL DEFAULT 0, l13 BIGINT NOT NULL DEFAULT 0, l14 BIGINT NOT NULL DEFAULT 0, l15 BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (endpoint_id, span, at)
);
CREATE INDEX traffic_at ON traffic (span, at);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
