-- The audit trail as a chain: each entry holds the hash of the one before it and of its own content, in the order of the commits.

-- +goose Up
ALTER TABLE audit ADD COLUMN address TEXT NOT NULL DEFAULT '';   -- where the request came from
ALTER TABLE audit ADD COLUMN seq BIGINT NOT NULL DEFAULT 0;      -- place in the chain, from 1 and without gaps; 0 while it has none
ALTER TABLE audit ADD COLUMN prev_hash TEXT NOT NULL DEFAULT ''; -- hash of the entry before; empty for the first
ALTER TABLE audit ADD COLUMN hash TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX audit_seq ON audit (seq) WHERE seq > 0;
CREATE INDEX audit_unchained ON audit (id) WHERE seq = 0;

-- One row: the last entry of the chain, and the last one that retention removed.
CREATE TABLE audit_head (
	id         BIGINT PRIMARY KEY,
	chain      TEXT NOT NULL,    -- names this chain; set with its first entry
	seq        BIGINT NOT NULL,
	hash       TEXT NOT NULL,
	floor_seq  BIGINT NOT NULL,
	floor_hash TEXT NOT NULL
);
INSERT INTO audit_head (id, chain, seq, hash, floor_seq, floor_hash) VALUES (1, '', 0, '', 0, '');

-- Signed statements of what the chain was at a moment.
CREATE TABLE audit_checkpoint (
	kind TEXT NOT NULL,    -- checkpoint, or pruned: of the last entry that retention removed
	seq  BIGINT NOT NULL,
	at   BIGINT NOT NULL,
	text TEXT NOT NULL,    -- as it was signed, with the signature
	PRIMARY KEY (kind, seq)
);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
