-- Second factors of accounts, the sessions they are logged in with, and the codes for who lost a factor.

-- +goose Up
CREATE TABLE account_factor (
	id         TEXT PRIMARY KEY,
	account_id TEXT NOT NULL REFERENCES account (id),
	kind       TEXT NOT NULL,            -- totp or passkey
	name       TEXT NOT NULL,
	secret     TEXT NOT NULL,            -- of totp sealed; of a passkey its public key
	credential TEXT NOT NULL DEFAULT '', -- of a passkey: its id
	counter    BIGINT NOT NULL,          -- of totp the last step that was used, of a passkey its count of signatures
	created_at BIGINT NOT NULL,
	used_at    BIGINT
);
CREATE INDEX account_factor_account ON account_factor (account_id);
CREATE UNIQUE INDEX account_factor_credential ON account_factor (credential) WHERE credential <> '';

-- A code works once and is gone. code_proof is made with the key of the vault: nobody guesses a code from it.
CREATE TABLE recovery_code (
	account_id TEXT NOT NULL REFERENCES account (id),
	code_proof TEXT NOT NULL,
	PRIMARY KEY (account_id, code_proof)
);

-- How many factors an account has, and whether its password is too short to stand alone.
ALTER TABLE account ADD COLUMN factors BIGINT NOT NULL DEFAULT 0;
ALTER TABLE account ADD COLUMN short_password BOOLEAN NOT NULL DEFAULT FALSE;

-- A browser in which somebody is logged in. The session of the browser names it.
CREATE TABLE login_session (
	id         TEXT PRIMARY KEY,
	account_id TEXT NOT NULL REFERENCES account (id),
	epoch      BIGINT NOT NULL,  -- session epoch of the account at login
	address    TEXT NOT NULL,    -- where the login came from
	agent      TEXT NOT NULL,    -- what the browser calls itself
	started_at BIGINT NOT NULL,
	seen_at    BIGINT NOT NULL,  -- written down every few minutes
	proved_at  BIGINT NOT NULL   -- when the owner last gave a password or a factor
);
CREATE INDEX login_session_account ON login_session (account_id, started_at);
CREATE INDEX login_session_started ON login_session (started_at);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
