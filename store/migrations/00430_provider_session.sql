-- Sessions that began at an OpenID provider, which says anew who somebody is before they go on, and may end them.

-- +goose Up
ALTER TABLE login_session ADD COLUMN provider TEXT NOT NULL DEFAULT '';         -- issuer; empty for a login with a password
ALTER TABLE login_session ADD COLUMN provider_session TEXT NOT NULL DEFAULT ''; -- what the provider calls the session (sid)
ALTER TABLE login_session ADD COLUMN id_token TEXT NOT NULL DEFAULT '';         -- sealed, to log out there
ALTER TABLE login_session ADD COLUMN checked_at BIGINT;                         -- when the provider last said who it is
CREATE INDEX login_session_provider ON login_session (provider, provider_session) WHERE provider_session <> '';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
