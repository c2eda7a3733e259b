-- +goose Up
-- Subscribers are told of changes of issues by events, each once. Of an issue that only the delivery of such events opened or reopened
-- they are not told: that event would fail like those before it, and so on without end.
ALTER TABLE issue ADD COLUMN quiet BOOLEAN NOT NULL DEFAULT FALSE; -- only deliveries of events about issues failed since it was opened or reopened
ALTER TABLE issue_event ADD COLUMN untold BOOLEAN NOT NULL DEFAULT FALSE; -- subscribers have to be told of it
CREATE INDEX issue_event_untold ON issue_event (id) WHERE untold;

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
