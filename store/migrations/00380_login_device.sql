-- Browsers in which the owner of an account logged in: attempts of others do not make them wait. token_hash is the SHA-256 of
-- what the browser keeps, in hexadecimal.

-- +goose Up
CREATE TABLE login_device (
	token_hash TEXT PRIMARY KEY,
	account_id TEXT NOT NULL REFERENCES account (id),
	created_at BIGINT NOT NULL,
	used_at    BIGINT NOT NULL
);
CREATE INDEX login_device_account ON login_device (account_id);
CREATE INDEX login_device_used ON login_device (used_at);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
