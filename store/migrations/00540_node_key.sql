-- +goose Up
-- Which keys of the vault a node can open secrets with, as ids separated by spaces, and which one it seals with. A new key comes into use
-- when every node that lives has it.
CREATE TABLE node_key (
	node    TEXT PRIMARY KEY,
	keys    TEXT NOT NULL,
	seals   TEXT NOT NULL,
	seen_at BIGINT NOT NULL
);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
