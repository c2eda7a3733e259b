-- +goose Up
-- The time before which an endpoint wants no request (Retry-After), and the node that sends the one request after it; while that
-- is under way the time is when another node may try in its place. Every node reads them before it claims.
ALTER TABLE endpoint ADD COLUMN wait_until BIGINT;
ALTER TABLE endpoint ADD COLUMN probe_owner TEXT NOT NULL DEFAULT '';
CREATE INDEX endpoint_wait ON endpoint (id) WHERE wait_until IS NOT NULL;

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
