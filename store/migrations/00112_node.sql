-- +goose Up
-- The nodes that live, each with a count that it raises while it does. What a node claimed is free once its count stands still.
-- Used on PostgreSQL; a SQLite file has one node.
CREATE TABLE node (
    id      TEXT PRIMARY KEY,
    beats   BIGINT NOT NULL,
    seen_at BIGINT NOT NULL
);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
