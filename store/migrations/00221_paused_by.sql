-- +goose Up
-- The administrator who paused an endpoint, as only an administrator resumes it then; empty when its partner did, or nobody.
ALTER TABLE endpoint ADD COLUMN paused_by TEXT NOT NULL DEFAULT '';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
