-- +goose Up
-- The login before the last one: who looks at the own account is logged in by the last one.
ALTER TABLE account ADD COLUMN previous_login_at BIGINT;

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
