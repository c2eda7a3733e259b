-- +goose Up
-- Which certificates and keys people were told of: the item by its kind and id, with the end that it had then, so that one that was renewed
-- is another row. days is the last threshold told, 0 for the end itself; text, remedy and code are what the event of it said. ended_at is set when it was
-- renewed or is gone.
CREATE TABLE expiry_notice (
    item     TEXT NOT NULL,
    until    BIGINT NOT NULL,
    days     BIGINT NOT NULL,
    told_at  BIGINT NOT NULL,
    code     TEXT NOT NULL,
    text     TEXT NOT NULL,
    remedy   TEXT NOT NULL,
    ended_at BIGINT,
    PRIMARY KEY (item, until)
);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
