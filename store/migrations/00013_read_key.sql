-- +goose Up
-- Read-only keys: static bearer tokens with which pipelines read the contract register as a partner does.
CREATE TABLE read_key (
    id            TEXT PRIMARY KEY,
    partner_id    TEXT NOT NULL REFERENCES partner (id),
    name          TEXT NOT NULL,
    secret_hash   TEXT NOT NULL UNIQUE,
    hint          TEXT NOT NULL, -- the last characters, to recognise it by
    created_at    BIGINT NOT NULL,
    created_by    TEXT NOT NULL DEFAULT '',
    expires_at    BIGINT,
    last_used_at  BIGINT,
    revoked_at    BIGINT,
    revoke_reason TEXT NOT NULL DEFAULT ''
);
CREATE INDEX read_key_partner ON read_key (partner_id);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
