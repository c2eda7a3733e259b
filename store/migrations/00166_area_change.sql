-- +goose Up
-- While a change of area waits for approval, the follower reads what it read before (MUT-49).
ALTER TABLE mutation_follower ADD COLUMN reads BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE mutation_follower ADD COLUMN read_area_id TEXT NOT NULL DEFAULT '';
ALTER TABLE mutation_follower ADD COLUMN read_object_types TEXT NOT NULL DEFAULT '[]';

-- Followers of a part know deltas by names that say of which part they are. Up to the delta of this number they know them by the
-- bare ids, as long as the part is the same.
ALTER TABLE mutation_follower ADD COLUMN bare_until BIGINT NOT NULL DEFAULT 0;
UPDATE mutation_follower SET bare_until = (SELECT COALESCE(MAX(d.number), 0) FROM mutation_delta d WHERE d.dataset_id = mutation_follower.dataset_id);

-- What names of deltas end with in the files of a download; empty for bare ids.
ALTER TABLE mutation_download ADD COLUMN mark TEXT NOT NULL DEFAULT '';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
