-- +goose Up
-- How an account is told of issues, dead letters and held deliveries.
ALTER TABLE account ADD COLUMN notify TEXT NOT NULL DEFAULT 'immediate';    -- immediate, digest, both or off
ALTER TABLE account ADD COLUMN digest_every TEXT NOT NULL DEFAULT 'daily';  -- daily or weekly
ALTER TABLE account ADD COLUMN digest_day BIGINT NOT NULL DEFAULT 1;        -- of a weekly digest: 0 is Sunday
ALTER TABLE account ADD COLUMN digest_hour BIGINT NOT NULL DEFAULT 7;       -- 0 to 23, in the time zone of the account
ALTER TABLE account ADD COLUMN digest_due BIGINT;                           -- when the next digest is due; empty for none
ALTER TABLE account ADD COLUMN digest_from BIGINT;                          -- what happened since is told in it
CREATE INDEX account_digest ON account (digest_due) WHERE digest_due IS NOT NULL;

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
