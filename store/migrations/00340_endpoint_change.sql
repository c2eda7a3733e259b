-- +goose Up
-- What an endpoint came to be, for its timeline: its status, its circuit, and probes that failed while that was open.
CREATE TABLE endpoint_change (
    endpoint_id TEXT NOT NULL,
    kind        TEXT NOT NULL, -- status, circuit or probe
    at          BIGINT NOT NULL,
    state       TEXT NOT NULL,
    PRIMARY KEY (endpoint_id, kind, at)
);
CREATE INDEX endpoint_change_at ON endpoint_change (at);

-- The last change is known of what was stopped before, and of circuits that are open.
INSERT INTO endpoint_change (endpoint_id, kind, at, state) SELECT id, 'status', status_at, status FROM endpoint WHERE status_at IS NOT NULL;
INSERT INTO endpoint_change (endpoint_id, kind, at, state) SELECT id, 'circuit', circuit_opened_at, 'open' FROM endpoint
	WHERE circuit_opened_at IS NOT NULL AND circuit = 'open';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
