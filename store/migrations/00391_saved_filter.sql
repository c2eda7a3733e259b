-- +goose Up
-- Filters of lists that an account saved under a name; at most one of a list is its default.
CREATE TABLE saved_filter (
    id         TEXT PRIMARY KEY,
    account_id TEXT NOT NULL,
    list       TEXT NOT NULL, -- the path of the list
    name       TEXT NOT NULL,
    query      TEXT NOT NULL, -- as it stands in an address
    preset     BOOLEAN NOT NULL DEFAULT FALSE, -- the list opens with it
    created_at BIGINT NOT NULL,
    UNIQUE (account_id, list, name)
);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
