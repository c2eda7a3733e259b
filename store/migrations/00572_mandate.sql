-- +goose Up
-- What the register of mandates last answered: whether an organisation mandated an intermediary, both by OIN, for a service.
CREATE TABLE mandate (
    intermediary TEXT NOT NULL,
    organisation TEXT NOT NULL,
    service      TEXT NOT NULL,
    mandated     BOOLEAN NOT NULL,
    asked_at     BIGINT NOT NULL,
    PRIMARY KEY (intermediary, organisation, service)
);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
