-- +goose Up
-- The partners to whom a contract is shown by name.
CREATE TABLE contract_partner (
    contract_id TEXT NOT NULL REFERENCES contract (id),
    partner_id  TEXT NOT NULL REFERENCES partner (id),
    PRIMARY KEY (contract_id, partner_id)
);
CREATE INDEX contract_partner_partner ON contract_partner (partner_id, contract_id);

-- The day on which the owner was agreed on (EDU-22), and what id and time of its events mean (CE-07, CE-20).
ALTER TABLE contract ADD COLUMN agreed_on TEXT NOT NULL DEFAULT '';
ALTER TABLE contract ADD COLUMN id_meaning TEXT NOT NULL DEFAULT '';
ALTER TABLE contract ADD COLUMN time_meaning TEXT NOT NULL DEFAULT '';
CREATE INDEX contract_owner ON contract (owner_partner_id);

-- Who asked for the publication of a draft, when and why; requested_at is NULL when nobody did.
ALTER TABLE contract_version ADD COLUMN requested_at BIGINT;
ALTER TABLE contract_version ADD COLUMN requested_by TEXT NOT NULL DEFAULT '';
ALTER TABLE contract_version ADD COLUMN request_reason TEXT NOT NULL DEFAULT '';
CREATE INDEX contract_version_requested ON contract_version (requested_at) WHERE status = 'draft' AND requested_at IS NOT NULL;

-- +goose Down
SELECT 'there is no way back: restore a backup instead';
