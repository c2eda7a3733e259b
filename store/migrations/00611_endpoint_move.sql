-- +goose Up
-- Changes of where an endpoint sends to, or gets its token from, that wait for approval or for proof. Deliveries go on to the old one. Of an
-- endpoint one waits at a time; secrets are gone once it is decided.
CREATE TABLE endpoint_move (
    id                TEXT PRIMARY KEY,
    endpoint_id       TEXT NOT NULL,
    partner_id        TEXT NOT NULL,
    mode              TEXT NOT NULL, -- approval or proof
    url               TEXT NOT NULL,
    token_url         TEXT NOT NULL,
    token_client_id   TEXT NOT NULL,
    token_secret      TEXT NOT NULL, -- sealed as that of the endpoint
    token_scope       TEXT NOT NULL,
    token_auth_method TEXT NOT NULL,
    certificates      TEXT NOT NULL, -- as those of the endpoint
    fingerprint       TEXT NOT NULL, -- of the destination it takes the place of
    challenge         TEXT NOT NULL, -- what the new host has to answer; empty for mode approval
    asked_by          TEXT NOT NULL,
    asked_name        TEXT NOT NULL,
    asked_at          BIGINT NOT NULL,
    expires_at        BIGINT NOT NULL,
    status            TEXT NOT NULL, -- waiting, done, declined, withdrawn, expired or stale
    tried_at          BIGINT,        -- when the challenge was last asked for
    tried             TEXT NOT NULL DEFAULT '', -- a message: what came of it
    decided_name      TEXT NOT NULL DEFAULT '',
    decided_at        BIGINT,
    outcome           TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX endpoint_move_waiting ON endpoint_move (endpoint_id) WHERE status = 'waiting';
CREATE INDEX endpoint_move_status ON endpoint_move (status, expires_at);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
