package store

import (
	"context"
	"fmt"
)

// Expiring is a certificate or key in the database that ends. Name and Owner tell people which: of a client its name, and that of its partner.
type Expiring struct {
	ID        string `db:"id"`
	PartnerID string `db:"partner_id"`
	Own       bool   `db:"own"` // of the own organisation
	Name      string `db:"name"`
	Owner     string `db:"owner"`
	From      Time   `db:"valid_from"` // zero: not known
	Until     Time   `db:"until"`
}

// ExpiringParties lists the last certificate of each AMQP party in use and purpose, which are their ids with a colon between them. The name
// is the subject of the certificate, the owner the party.
func (q *Queries) ExpiringParties(ctx context.Context) ([]Expiring, error) {
	return listOf[Expiring](ctx, q, `SELECT c.party_id || ':' || c.purpose AS id, p.partner_id, p.own, c.subject AS name, p.name AS owner, c.not_before AS valid_from, c.not_after AS until
		FROM amqp_certificate c JOIN amqp_party p ON p.id = c.party_id AND p.enabled
		WHERE NOT EXISTS (SELECT 1 FROM amqp_certificate o WHERE o.party_id = c.party_id AND o.purpose = c.purpose
			AND (o.not_after > c.not_after OR o.not_after = c.not_after AND o.id > c.id))
		ORDER BY c.not_after, c.id`)
}

// ExpiringClients lists the active clients that showed a certificate which ends after a moment.
func (q *Queries) ExpiringClients(ctx context.Context, after Time) ([]Expiring, error) {
	return listOf[Expiring](ctx, q, `SELECT c.id, c.partner_id, p.own, c.name, p.name AS owner, c.certificate_until AS until
		FROM client c JOIN partner p ON p.id = c.partner_id AND p.status IN ('approved', 'suspended')
		WHERE c.status = 'active' AND c.certificate_until > ? ORDER BY c.certificate_until, c.id`, after)
}

// ExpiringReadKeys lists the keys for pipelines that end after a moment.
func (q *Queries) ExpiringReadKeys(ctx context.Context, after Time) ([]Expiring, error) {
	return listOf[Expiring](ctx, q, `SELECT k.id, k.partner_id, p.own, k.name, p.name AS owner, k.created_at AS valid_from, k.expires_at AS until
		FROM read_key k JOIN partner p ON p.id = k.partner_id AND p.status IN ('approved', 'suspended')
		WHERE k.revoked_at IS NULL AND k.expires_at > ? ORDER BY k.expires_at, k.id`, after)
}

// KeptKeys is a client or an endpoint with keys of which some may end: a JWKS, or the keys that sign requests to it.
type KeptKeys struct {
	ID        string `db:"id"`
	PartnerID string `db:"partner_id"`
	Own       bool   `db:"own"`
	Name      string `db:"name"`
	Owner     string `db:"owner"`
	Keys      string `db:"keys"`
}

// ClientsWithCertificates lists the active clients whose registered keys have certificates (x5c).
func (q *Queries) ClientsWithCertificates(ctx context.Context) ([]KeptKeys, error) {
	return listOf[KeptKeys](ctx, q, `SELECT c.id, c.partner_id, p.own, c.name, p.name AS owner, c.jwks AS keys
		FROM client c JOIN partner p ON p.id = c.partner_id AND p.status IN ('approved', 'suspended')
		WHERE c.status = 'active' AND c.jwks LIKE '%"x5c"%' ORDER BY c.id`)
}

// EndpointsWithEndingKeys lists the endpoints to which a second key signs until it retires.
func (q *Queries) EndpointsWithEndingKeys(ctx context.Context) ([]KeptKeys, error) {
	return listOf[KeptKeys](ctx, q, `SELECT e.id, e.partner_id, p.own, e.name, p.name AS owner, e.sign_keys AS keys
		FROM endpoint e JOIN partner p ON p.id = e.partner_id AND p.status IN ('approved', 'suspended')
		WHERE e.status <> 'ended' AND e.sign_keys LIKE '%"retiresAt"%' ORDER BY e.id`)
}

// EndpointsSigned lists the ids of the endpoints to which requests are signed with Ed25519.
func (q *Queries) EndpointsSigned(ctx context.Context) ([]string, error) {
	return listOf[string](ctx, q, `SELECT id FROM endpoint WHERE kind = 'webhook' AND status <> 'ended' AND sign_keys LIKE '%"ed25519"%' ORDER BY id`)
}

// EndpointsWithCertificates lists the endpoints that are shown client certificates of their own.
func (q *Queries) EndpointsWithCertificates(ctx context.Context) ([]KeptKeys, error) {
	return listOf[KeptKeys](ctx, q, `SELECT e.id, e.partner_id, p.own, e.name, p.name AS owner, e.certificates AS keys
		FROM endpoint e JOIN partner p ON p.id = e.partner_id AND p.status IN ('approved', 'suspended')
		WHERE e.status <> 'ended' AND e.certificates <> '' ORDER BY e.id`)
}

// EndpointAddresses lists the addresses, as Keys, of the webhooks that are sent to.
func (q *Queries) EndpointAddresses(ctx context.Context) ([]KeptKeys, error) {
	return listOf[KeptKeys](ctx, q, `SELECT e.id, e.partner_id, p.own, e.name, p.name AS owner, e.url AS keys
		FROM endpoint e JOIN partner p ON p.id = e.partner_id AND p.status = 'approved'
		WHERE e.kind = 'webhook' AND e.status = 'active' AND e.url LIKE 'https://%' ORDER BY e.id`)
}

// TokenAddresses lists the addresses, as Keys, of the token endpoints that are asked for the sake of such webhooks.
func (q *Queries) TokenAddresses(ctx context.Context) ([]KeptKeys, error) {
	return listOf[KeptKeys](ctx, q, `SELECT e.id, e.partner_id, p.own, e.name, p.name AS owner, e.token_url AS keys
		FROM endpoint e JOIN partner p ON p.id = e.partner_id AND p.status = 'approved'
		WHERE e.kind = 'webhook' AND e.status = 'active' AND e.token_url LIKE 'https://%' ORDER BY e.id`)
}

// KeyAddresses lists the addresses, as Keys, that the keys of active clients are read from.
func (q *Queries) KeyAddresses(ctx context.Context) ([]KeptKeys, error) {
	return listOf[KeptKeys](ctx, q, `SELECT c.id, c.partner_id, p.own, c.name, p.name AS owner, c.jwks_uri AS keys
		FROM client c JOIN partner p ON p.id = c.partner_id AND p.status = 'approved'
		WHERE c.status = 'active' AND c.jwks_uri LIKE 'https://%' ORDER BY c.id`)
}

// SubscriptionsEncrypted lists the subscriptions whose data is encrypted, with their recipients as Keys.
func (q *Queries) SubscriptionsEncrypted(ctx context.Context) ([]KeptKeys, error) {
	return listOf[KeptKeys](ctx, q, `SELECT s.id, p.id AS partner_id, p.own, e.name, p.name AS owner, s.encrypt AS keys
		FROM subscription s JOIN endpoint e ON e.id = s.endpoint_id JOIN partner p ON p.id = e.partner_id AND p.status IN ('approved', 'suspended')
		WHERE s.encrypt <> '' AND s.status IN ('approved', 'paused', 'suspended') ORDER BY s.id`)
}

// ExpiryNotice records that people were told that something ends.
type ExpiryNotice struct {
	Item    string `db:"item"`
	Until   Time   `db:"until"` // its end
	Days    int64  `db:"days"`  // the threshold that was told last; 0 for the end itself
	ToldAt  Time   `db:"told_at"`
	Code    string `db:"code"`
	Text    string `db:"text"`
	Remedy  string `db:"remedy"`
	EndedAt Time   `db:"ended_at"` // when it was renewed or gone
}

// ExpiryNotices lists what people were told of.
func (q *Queries) ExpiryNotices(ctx context.Context) ([]ExpiryNotice, error) {
	rows, err := listOf[ExpiryNotice](ctx, q, `SELECT * FROM expiry_notice ORDER BY item, until`)
	if err != nil {
		return nil, fmt.Errorf("read what people were told of ends: %w", err)
	}
	return rows, nil
}

// NoteExpiry notes that people are told of a threshold, and reports whether nobody was told of it or of a nearer one: then the caller tells them
// in this transaction.
func (tx *Tx) NoteExpiry(ctx context.Context, n ExpiryNotice) (bool, error) {
	rows, err := tx.exec(ctx, `INSERT INTO expiry_notice (item, until, days, told_at, code, text, remedy) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (item, until) DO UPDATE SET days = excluded.days, told_at = excluded.told_at, code = excluded.code, text = excluded.text,
			remedy = excluded.remedy, ended_at = NULL WHERE expiry_notice.days > excluded.days`,
		n.Item, n.Until, n.Days, tx.Now, n.Code, n.Text, n.Remedy)
	if err != nil {
		return false, fmt.Errorf("note what people are told of an end: %w", err)
	}
	return rows == 1, nil
}

// EndExpiry notes that what ends was renewed or is gone.
func (tx *Tx) EndExpiry(ctx context.Context, item string, until Time) error {
	return tx.do(ctx, `UPDATE expiry_notice SET ended_at = ? WHERE item = ? AND until = ? AND ended_at IS NULL`, tx.Now, item, until)
}
