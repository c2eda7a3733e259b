-- +goose Up
-- How many deliveries of a job a later job took over: they count there, and the outcomes of both add up.
CREATE TABLE resend_moved (
    job_id    TEXT NOT NULL,
    to_job_id TEXT NOT NULL,
    moved     BIGINT NOT NULL,
    PRIMARY KEY (job_id, to_job_id)
);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
