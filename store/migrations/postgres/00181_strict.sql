-- +goose Up
-- The strict profile is the default from this version on. An installation that is in use keeps the three rules relaxed that
-- were relaxed by default before, as settings that its administrator sees and can take back, so that no client of it is
-- locked out by an upgrade. A value that somebody chose stays as it is.
INSERT INTO setting (name, value, updated_at)
SELECT 'profile', '{"version":1,"updatedAt":"2026-11-22T00:00:00Z","updatedBy":"Upgrade of Schakel","values":{}}', 0
WHERE EXISTS (SELECT 1 FROM partner WHERE own) AND NOT EXISTS (SELECT 1 FROM setting WHERE name = 'profile');
UPDATE setting SET value = jsonb_set(value::jsonb, '{values}',
    '{"idempotency.require_key_on_writes":"accept","register.spec_versions":"accept","tokens.client_auth":"client_secret_basic"}'::jsonb
    || (value::jsonb -> 'values'))::text
WHERE name = 'profile';

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
