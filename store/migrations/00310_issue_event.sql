-- +goose Up
-- What happened to an issue, one row for each change of its state: for its page, for digests, and for the events about it.
CREATE TABLE issue_event (
    id         TEXT PRIMARY KEY,
    issue_id   TEXT NOT NULL,
    partner_id TEXT NOT NULL,
    at         BIGINT NOT NULL,
    action     TEXT NOT NULL,           -- opened, acknowledged, resolved or reopened
    actor      TEXT NOT NULL DEFAULT '' -- who did it; empty when it happened by itself
);
CREATE INDEX issue_event_issue ON issue_event (issue_id, id);
CREATE INDEX issue_event_at ON issue_event (at);

ALTER TABLE issue ADD COLUMN event_id TEXT NOT NULL DEFAULT ''; -- the change that opened or reopened it last
ALTER TABLE issue ADD COLUMN raised_at BIGINT;                  -- since when people have to be told of it; empty when they were
ALTER TABLE issue ADD COLUMN told_at BIGINT;                    -- when people were told of it last
CREATE INDEX issue_raised ON issue (raised_at) WHERE raised_at IS NOT NULL;

INSERT INTO issue_event (id, issue_id, partner_id, at, action)
SELECT 'ise' || substr(id, 4), id, partner_id, first_at, 'opened' FROM issue;

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
