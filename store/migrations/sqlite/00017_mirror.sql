-- +goose Up
-- Registers of others whose contracts are copied into ours, when and which.
CREATE TABLE mirror_source (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    kind       TEXT NOT NULL, -- schakel, catalog, apicurio or urls
    url        TEXT NOT NULL DEFAULT '',
    urls       TEXT NOT NULL DEFAULT '[]', -- JSON array of the lines of a list of addresses
    partner_id TEXT NOT NULL DEFAULT '',
    secret     TEXT NOT NULL DEFAULT '', -- sealed
    schedule   TEXT NOT NULL,
    contracts  TEXT NOT NULL DEFAULT '[]', -- JSON array of patterns of ids there; empty is all
    prefix     TEXT NOT NULL UNIQUE, -- of the ids of the copies
    enabled    BOOLEAN NOT NULL,
    asked_at   BIGINT, -- when somebody asked for a run at once
    asked_by   TEXT NOT NULL DEFAULT '',
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL DEFAULT '',
    updated_at BIGINT NOT NULL
);

-- What each run of a mirror found.
CREATE TABLE mirror_run (
    id          TEXT PRIMARY KEY,
    source_id   TEXT NOT NULL REFERENCES mirror_source (id),
    cause       TEXT NOT NULL, -- schedule, or the name of who asked
    started_at  BIGINT NOT NULL,
    finished_at BIGINT, -- NULL while it goes on
    added       BIGINT NOT NULL DEFAULT 0,
    unchanged   BIGINT NOT NULL DEFAULT 0,
    changed     BIGINT NOT NULL DEFAULT 0,
    refused     BIGINT NOT NULL DEFAULT 0,
    marked      BIGINT NOT NULL DEFAULT 0,
    failed      BIGINT NOT NULL DEFAULT 0,
    error       TEXT NOT NULL DEFAULT '',
    lines       TEXT NOT NULL DEFAULT '[]' -- JSON array of what was not as before
);
CREATE INDEX mirror_run_source ON mirror_run (source_id, id);

-- The contracts of our register that are copies, and of what.
CREATE TABLE mirror_contract (
    contract_id TEXT PRIMARY KEY REFERENCES contract (id),
    source_id   TEXT NOT NULL REFERENCES mirror_source (id),
    origin_id   TEXT NOT NULL,
    origin_url  TEXT NOT NULL,
    gone_at     BIGINT, -- since when the source does not offer it
    created_at  BIGINT NOT NULL,
    UNIQUE (source_id, origin_id)
);

-- Where the bytes of each copied version come from, and what the source says of it now.
CREATE TABLE mirror_copy (
    version_id     TEXT PRIMARY KEY REFERENCES contract_version (id),
    contract_id    TEXT NOT NULL REFERENCES mirror_contract (contract_id),
    version        TEXT NOT NULL,
    source_id      TEXT NOT NULL,
    origin_version TEXT NOT NULL DEFAULT '', -- as the source writes it
    origin_url     TEXT NOT NULL,
    digest         TEXT NOT NULL,
    etag           TEXT NOT NULL DEFAULT '',
    fetched_at     BIGINT NOT NULL,
    checked_at     BIGINT NOT NULL, -- when the bytes of the source were last compared with ours
    source_status  TEXT NOT NULL, -- published, deprecated, withdrawn or gone
    source_since   BIGINT NOT NULL
);
CREATE INDEX mirror_copy_contract ON mirror_copy (contract_id);

-- Bytes that a source gave for a version of which we have other bytes.
CREATE TABLE mirror_aside (
    id          TEXT PRIMARY KEY,
    source_id   TEXT NOT NULL REFERENCES mirror_source (id),
    contract_id TEXT NOT NULL REFERENCES mirror_contract (contract_id),
    version     TEXT NOT NULL,
    origin_url  TEXT NOT NULL,
    digest      TEXT NOT NULL,
    size        BIGINT NOT NULL,
    content     BLOB NOT NULL,
    found_at    BIGINT NOT NULL,
    seen_at     BIGINT NOT NULL,
    settled_at  BIGINT,
    settled_by  TEXT NOT NULL DEFAULT '',
    reason      TEXT NOT NULL DEFAULT '',
    UNIQUE (contract_id, version, digest)
);
CREATE INDEX mirror_aside_source ON mirror_aside (source_id, id);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
