-- +goose Up
-- Keys with a certificate, that sign our client assertions in place of the keys of access tokens. The private part is sealed; a key is published
-- at once, and signs from starts_at until another starts or it is retired.
CREATE TABLE assertion_key (
    id          TEXT PRIMARY KEY, -- its kid
    algorithm   TEXT NOT NULL,
    private_key TEXT NOT NULL,
    certificate TEXT NOT NULL, -- PEM, with those that lead to its root
    not_after   BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    starts_at   BIGINT NOT NULL,
    retired_at  BIGINT
);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
