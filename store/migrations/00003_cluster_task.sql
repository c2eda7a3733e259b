-- +goose Up
-- Work that one node of the cluster does at a time, such as pruning: who holds it until when, how far it is, and what came
-- of its last run.
CREATE TABLE cluster_task (
    name        TEXT PRIMARY KEY,
    owner       TEXT NOT NULL,
    lease_until BIGINT NOT NULL,
    cursor      TEXT NOT NULL DEFAULT '',
    started_at  BIGINT NOT NULL,
    finished_at BIGINT,
    removed     BIGINT NOT NULL DEFAULT 0,
    error       TEXT NOT NULL DEFAULT ''
);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
