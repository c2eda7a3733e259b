-- +goose Up
-- On PostgreSQL events, deliveries and attempts are kept in a partition a day from here on. SQLite has one file, and stays as it is.
SELECT 'nothing to do';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
