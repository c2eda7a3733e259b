-- +goose Up
-- Which partners an event is for, besides the own organisation: their ids between commas, as ',ptn_1,ptn_2,', or ',' for
-- none of them. Empty, as for nearly every event, is for whoever is subscribed.
ALTER TABLE event ADD COLUMN audience TEXT NOT NULL DEFAULT '';

-- Who last fetched each version of a contract: a client, a read-only key or a person of a partner.
CREATE TABLE contract_download (
    version_id  TEXT NOT NULL REFERENCES contract_version (id),
    reader_kind TEXT NOT NULL, -- client, read-key or account
    reader_id   TEXT NOT NULL,
    partner_id  TEXT NOT NULL,
    last_at     BIGINT NOT NULL,
    PRIMARY KEY (version_id, reader_kind, reader_id)
);
CREATE INDEX contract_download_last ON contract_download (last_at);

-- How often a version was fetched on a day by who did not say who it was.
CREATE TABLE contract_download_day (
    version_id TEXT NOT NULL REFERENCES contract_version (id),
    day        TEXT NOT NULL, -- as 2026-05-01, in UTC
    downloads  BIGINT NOT NULL,
    PRIMARY KEY (version_id, day)
);
CREATE INDEX contract_download_day_day ON contract_download_day (day);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
