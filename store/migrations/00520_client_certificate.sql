-- +goose Up
-- Certificates of clients. certificate_subject is the subject (RFC 4514) that a certificate must have, empty for one with the OIN of the
-- partner; certificate_bound gives tokens that work with that certificate alone; certificate_keys trusts keys by the certificate in an
-- assertion. The last two are of the certificate that the client showed last, at our token endpoint or in an assertion.
ALTER TABLE client ADD COLUMN certificate_subject TEXT NOT NULL DEFAULT '';
ALTER TABLE client ADD COLUMN certificate_bound BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE client ADD COLUMN certificate_keys BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE client ADD COLUMN certificate_seen TEXT NOT NULL DEFAULT '';
ALTER TABLE client ADD COLUMN certificate_until BIGINT;

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
