-- A school is known by its BRIN number, and an organisation may be known by its KvK number alone. A registration that somebody has begun
-- is kept sealed until it is sent or forgotten; token_hash is the SHA-256, in hexadecimal, of what the browser keeps.

-- +goose Up
ALTER TABLE partner ADD COLUMN brin TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX partner_brin ON partner (brin) WHERE brin <> '' AND status NOT IN ('rejected', 'ended');
CREATE TABLE registration_draft (
	id         TEXT PRIMARY KEY,
	token_hash TEXT NOT NULL UNIQUE,
	sealed     TEXT NOT NULL,
	updated_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL
);
CREATE INDEX registration_draft_expires ON registration_draft (expires_at);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
