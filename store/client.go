package store

import "context"

// States of a client. What it asked for beyond reading waits for an administrator; it can be used meanwhile
// with what it was already granted.
const (
	ClientActive  = "active"
	ClientRevoked = "revoked"
)

// Client is a confidential OAuth 2 client of a partner or of the own organisation.
type Client struct {
	ID               string  `db:"id"`
	PartnerID        string  `db:"partner_id"`
	Name             string  `db:"name"`
	AuthMethod       string  `db:"auth_method"` // private_key_jwt, client_secret_basic, client_secret_post
	SecretHash       string  `db:"secret_hash"`
	JWKS             string  `db:"jwks"`
	JWKSURI          string  `db:"jwks_uri"`
	Scopes           Strings `db:"scopes"`
	RequestedScopes  Strings `db:"requested_scopes"` // awaiting an administrator
	PublishTypes     Strings `db:"publish_types"`    // exact, or a prefix that ends in ".*"
	PublishSources   Strings `db:"publish_sources"`  // exact, or a prefix that ends in "*"
	RequestedTypes   Strings `db:"requested_types"`
	RequestedSources Strings `db:"requested_sources"`
	Status           string  `db:"status"`
	StatusReason     string  `db:"status_reason"`
	TokenVersion     int64   `db:"token_version"` // tokens of an older version are refused
	CreatedAt        Time    `db:"created_at"`
	UpdatedAt        Time    `db:"updated_at"`
	DecidedAt        Time    `db:"decided_at"`
	DecidedBy        string  `db:"decided_by"`
}

// Waiting reports whether the client asked for something an administrator has not decided on.
func (c Client) Waiting() bool {
	return c.Status == ClientActive && len(c.RequestedScopes)+len(c.RequestedTypes)+len(c.RequestedSources) > 0
}

// InsertClient adds a client under a new id, which is its OAuth client_id.
func (tx *Tx) InsertClient(ctx context.Context, c *Client) error {
	c.ID, c.CreatedAt, c.UpdatedAt, c.TokenVersion = tx.NewID("cli"), tx.Now, tx.Now, 1
	return tx.insert(ctx, "client", c)
}

// UpdateClient writes all that may change of a client.
func (tx *Tx) UpdateClient(ctx context.Context, c *Client) error {
	c.UpdatedAt = tx.Now
	return tx.update(ctx, "client", c, "name", "auth_method", "secret_hash", "jwks", "jwks_uri", "scopes", "requested_scopes",
		"publish_types", "publish_sources", "requested_types", "requested_sources", "status", "status_reason", "token_version",
		"updated_at", "decided_at", "decided_by")
}

// Client finds a client.
func (q *Queries) Client(ctx context.Context, id string) (Client, error) {
	var c Client
	return c, q.get(ctx, &c, `SELECT * FROM client WHERE id = ?`, id)
}

// Clients lists the clients of a partner, newest first.
func (q *Queries) Clients(ctx context.Context, partnerID string) ([]Client, error) {
	var rows []Client
	return rows, q.list(ctx, &rows, `SELECT * FROM client WHERE partner_id = ? ORDER BY id DESC`, partnerID)
}

// PublishingClients lists the active clients of all partners that may publish something.
func (q *Queries) PublishingClients(ctx context.Context) ([]Client, error) {
	var rows []Client
	return rows, q.list(ctx, &rows, `SELECT * FROM client WHERE status = 'active' AND publish_types <> '[]' ORDER BY id`)
}

// ClientsWaiting lists the clients whose requests an administrator has to decide on, oldest first.
func (q *Queries) ClientsWaiting(ctx context.Context) ([]Client, error) {
	var rows []Client
	return rows, q.list(ctx, &rows, `SELECT * FROM client WHERE status = 'active'
		AND (requested_scopes <> '[]' OR requested_types <> '[]' OR requested_sources <> '[]') ORDER BY id`)
}

// SigningKey is a key of our token issuer; the private part is sealed.
type SigningKey struct {
	ID         string `db:"id"`
	Algorithm  string `db:"algorithm"`
	PrivateKey string `db:"private_key"`
	CreatedAt  Time   `db:"created_at"`
	RetiredAt  Time   `db:"retired_at"`
}

// InsertSigningKey adds a key under a new id (its JWK kid).
func (tx *Tx) InsertSigningKey(ctx context.Context, k *SigningKey) error {
	if k.ID == "" {
		k.ID = tx.NewID("key")
	}
	k.CreatedAt = tx.Now
	return tx.insert(ctx, "signing_key", k)
}

// SigningKeys lists the keys, newest first.
func (q *Queries) SigningKeys(ctx context.Context) ([]SigningKey, error) {
	var rows []SigningKey
	return rows, q.list(ctx, &rows, `SELECT * FROM signing_key ORDER BY created_at DESC, id DESC`)
}

// RetireSigningKey stops a key from signing; it stays published while tokens of it live.
func (tx *Tx) RetireSigningKey(ctx context.Context, id string) error {
	return tx.one(ctx, `UPDATE signing_key SET retired_at = ? WHERE id = ? AND retired_at IS NULL`, tx.Now, id)
}
