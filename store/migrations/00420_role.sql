-- The people of a partner had one role; now they have the one that may do all that they could.

-- +goose Up
UPDATE account SET role = 'manager' WHERE role = 'partner';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
