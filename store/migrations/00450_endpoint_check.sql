-- +goose Up
-- Checks of endpoints against the profile; the newest few of each are kept.
CREATE TABLE endpoint_check (
    id          TEXT PRIMARY KEY,
    endpoint_id TEXT NOT NULL,
    started_at  BIGINT NOT NULL,
    finished_at BIGINT, -- null while it runs
    started_by  TEXT NOT NULL, -- the name of a person or client
    result      TEXT NOT NULL DEFAULT '', -- pass, advice, fault or stopped; empty while it runs
    faults      BIGINT NOT NULL DEFAULT 0,
    advice      BIGINT NOT NULL DEFAULT 0,
    config_version BIGINT NOT NULL, -- of the endpoint that was checked
    report      TEXT NOT NULL DEFAULT '' -- JSON of delivery/endpointcheck
);
CREATE INDEX endpoint_check_of ON endpoint_check (endpoint_id, started_at);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
