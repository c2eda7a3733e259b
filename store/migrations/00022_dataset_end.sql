-- +goose Up
-- When a dataset ended, and why: who followed it then goes on until what was cut is over.
ALTER TABLE dataset ADD COLUMN ended_at BIGINT;
ALTER TABLE dataset ADD COLUMN end_reason TEXT NOT NULL DEFAULT '';

-- Deltas and snapshots that could not be made since the last one that could.
CREATE TABLE mutation_trouble (
    dataset_id TEXT NOT NULL REFERENCES dataset (id),
    kind       TEXT NOT NULL, -- delta or snapshot
    error      TEXT NOT NULL, -- of the last time
    times      BIGINT NOT NULL,
    since      BIGINT NOT NULL, -- the first time
    last_at    BIGINT NOT NULL,
    PRIMARY KEY (dataset_id, kind)
);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
