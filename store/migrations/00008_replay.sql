-- +goose Up
-- Which replay made a delivery, or sent it again; empty for one that came with its event.
ALTER TABLE delivery ADD COLUMN replay_of TEXT NOT NULL DEFAULT '';
-- What one replay made, and what replays have waiting at an endpoint. Other deliveries are in neither.
CREATE INDEX delivery_replay ON delivery (replay_of, id) WHERE replay_of <> '';
CREATE INDEX delivery_replay_open ON delivery (endpoint_id) WHERE replay_of <> '' AND status IN ('pending', 'retrying');

-- What was discarded, for its list: like the states that need a person, one finds it among millions delivered.
CREATE INDEX delivery_discarded ON delivery (status, updated_at) WHERE status IN ('discarded');

-- The total was not counted to the end: there is more.
ALTER TABLE resend_job ADD COLUMN total_more BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX resend_job_partner ON resend_job (partner_id, id);

-- What a replay does for each subscription. One that cannot go on does not stop the others.
CREATE TABLE replay_part (
    job_id          TEXT NOT NULL REFERENCES resend_job (id),
    subscription_id TEXT NOT NULL,
    endpoint_id     TEXT NOT NULL,
    partner_id      TEXT NOT NULL,
    -- Events accepted before do not count; NULL is all that are kept.
    since_at        BIGINT,
    status          TEXT NOT NULL,
    -- Why it does not go on now, or why it ended early.
    reason          TEXT NOT NULL DEFAULT '',
    total           BIGINT NOT NULL DEFAULT 0,
    total_more      BOOLEAN NOT NULL DEFAULT FALSE,
    done            BIGINT NOT NULL DEFAULT 0,
    refused         BIGINT NOT NULL DEFAULT 0,
    -- The last event that was looked at.
    cursor          TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (job_id, subscription_id)
);

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
