-- +goose Up
-- How many times a delivery was leased to a node: the number of its present lease. It tells the outcome of a sender that hung past
-- its lease from that of the one who took over, also when both are of one node.
ALTER TABLE delivery ADD COLUMN lease BIGINT NOT NULL DEFAULT 0;

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
