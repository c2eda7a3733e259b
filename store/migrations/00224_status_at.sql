-- +goose Up
-- When an endpoint came into its present state; NULL when that is not known, as of those that were stopped before the audit trail begins.
ALTER TABLE endpoint ADD COLUMN status_at BIGINT;
UPDATE endpoint SET status_at = (SELECT MAX(at) FROM audit WHERE object_kind = 'endpoint' AND object_id = endpoint.id
	AND action IN ('endpoint.paused', 'endpoint.suspended')) WHERE status IN ('paused', 'suspended');

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
