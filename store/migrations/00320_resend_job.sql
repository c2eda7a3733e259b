-- +goose Up
-- With how much care a job resends: one delivery an endpoint first, and no more than so many a minute.
ALTER TABLE resend_job ADD COLUMN canary BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE resend_job ADD COLUMN stage TEXT NOT NULL DEFAULT ''; -- choosing or canary; empty when it goes on with the rest
ALTER TABLE resend_job ADD COLUMN rate BIGINT NOT NULL DEFAULT 0; -- deliveries a minute; 0 for as fast as possible
ALTER TABLE resend_job ADD COLUMN next_at BIGINT; -- before this moment the rate lets none go
ALTER TABLE resend_job ADD COLUMN stopped_for TEXT NOT NULL DEFAULT ''; -- the message of a job that stopped by itself
ALTER TABLE resend_job ADD COLUMN refusals TEXT NOT NULL DEFAULT '{}'; -- how many could not be resent, by reason, as JSON

-- The delivery that a job resent first to an endpoint.
CREATE TABLE resend_canary (
    job_id      TEXT NOT NULL REFERENCES resend_job (id),
    endpoint_id TEXT NOT NULL,
    delivery_id TEXT NOT NULL,
    outcome     TEXT NOT NULL, -- pending, delivered or failed
    PRIMARY KEY (job_id, endpoint_id)
);

-- What a job could not resend, and why.
CREATE TABLE resend_refusal (
    job_id      TEXT NOT NULL REFERENCES resend_job (id),
    delivery_id TEXT NOT NULL,
    reason      TEXT NOT NULL,
    PRIMARY KEY (job_id, delivery_id)
);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
