-- +goose Up
-- A Norwegian organisation has no OIN: it is known by its organisasjonsnummer.
ALTER TABLE partner ADD COLUMN org_number TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX partner_org_number ON partner (org_number) WHERE org_number <> '' AND status NOT IN ('rejected', 'ended');

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
