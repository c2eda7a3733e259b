-- +goose Up
-- Versions of objects of which a publication does not tell where they lie, in a dataset whose followers choose an area.
ALTER TABLE mutation_publication ADD COLUMN unlocated BIGINT NOT NULL DEFAULT 0;
ALTER TABLE mutation_publication ADD COLUMN unlocated_first TEXT NOT NULL DEFAULT ''; -- in words, where the first of them is

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
