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
	AuthMethod       string  `db:"auth_method"` // private_key_jwt, tls_client_auth, client_secret_basic, client_secret_post
	SecretHash       string  `db:"secret_hash"`
	JWKS             string  `db:"jwks"`
	JWKSURI          string  `db:"jwks_uri"`
	Scopes           Strings `db:"scopes"`
	RequestedScopes  Strings `db:"requested_scopes"` // awaiting an administrator
	PublishTypes     Strings `db:"publish_types"`    // exact, or a prefix that ends in ".*"
	PublishSources   Strings `db:"publish_sources"`  // exact, or a prefix that ends in "*"
	RequestedTypes   Strings `db:"requested_types"`
	RequestedSources Strings `db:"requested_sources"`
	RequestedKeys    string  `db:"requested_keys"` // other keys, as JSON; empty: none
	Status           string  `db:"status"`
	StatusReason     string  `db:"status_reason"`
	TokenVersion     int64   `db:"token_version"` // tokens of an older version are refused
	CreatedAt        Time    `db:"created_at"`
	UpdatedAt        Time    `db:"updated_at"`
	DecidedAt        Time    `db:"decided_at"`
	DecidedBy        string  `db:"decided_by"`

	CertificateSubject string `db:"certificate_subject"` // that a TLS certificate of it must have; empty: the OIN of the partner is enough
	CertificateBound   bool   `db:"certificate_bound"`   // its tokens work with the certificate alone that they were asked with
	DPoPBound          bool   `db:"dpop_bound"`          // its tokens work with a proof of the key alone that they were asked with
	CertificateKeys    bool   `db:"certificate_keys"`    // private_key_jwt: a key counts that comes with a certificate of the partner
	CertificateSeen    string `db:"certificate_seen"`    // the subject of the certificate that it showed last
	CertificateUntil   Time   `db:"certificate_until"`   // the end of that

	ExternalIssuer string `db:"external_issuer"` // id of another token issuer whose tokens it may use; empty: none
	ExternalID     string `db:"external_id"`     // what that issuer calls it
}

// Waiting reports whether the client asked for something an administrator has not decided on.
func (c Client) Waiting() bool {
	return c.Status == ClientActive && len(c.RequestedScopes)+len(c.RequestedTypes)+len(c.RequestedSources)+len(c.RequestedKeys) > 0
}

// InsertClient adds a client under a new id, which is its OAuth client_id.
func (tx *Tx) InsertClient(ctx context.Context, c *Client) error {
	c.ID, c.CreatedAt, c.UpdatedAt, c.TokenVersion = tx.NewID("cli"), tx.Now, tx.Now, 1
	return tx.insert(ctx, "client", c)
}

// UpdateClient writes all that may change of a client; ErrConflict when another has its name at a token issuer.
func (tx *Tx) UpdateClient(ctx context.Context, c *Client) error {
	c.UpdatedAt = tx.Now
	return tx.update(ctx, "client", c, "name", "auth_method", "secret_hash", "jwks", "jwks_uri", "scopes", "requested_scopes",
		"publish_types", "publish_sources", "requested_types", "requested_sources", "requested_keys", "status", "status_reason", "token_version",
		"updated_at", "decided_at", "decided_by", "certificate_subject", "certificate_bound", "certificate_keys", "external_issuer", "external_id", "dpop_bound")
}

// NoteClientCertificate records which certificate a client showed last.
func (tx *Tx) NoteClientCertificate(ctx context.Context, id, subject string, until Time) error {
	return tx.one(ctx, `UPDATE client SET certificate_seen = ?, certificate_until = ? WHERE id = ?`, subject, until, id)
}

// Client finds a client.
func (q *Queries) Client(ctx context.Context, id string) (Client, error) {
	return getOne[Client](ctx, q, `SELECT * FROM client WHERE id = ?`, id)
}

// ExternalClient finds the client that another token issuer calls by a name.
func (q *Queries) ExternalClient(ctx context.Context, issuer, id string) (Client, error) {
	return getOne[Client](ctx, q, `SELECT * FROM client WHERE external_issuer = ? AND external_id = ? AND external_id <> ''`, issuer, id)
}

// Clients lists the clients of a partner, newest first.
func (q *Queries) Clients(ctx context.Context, partnerID string) ([]Client, error) {
	return listOf[Client](ctx, q, `SELECT * FROM client WHERE partner_id = ? ORDER BY id DESC`, partnerID)
}

// PublishingClients lists the active clients of all partners that may publish something.
func (q *Queries) PublishingClients(ctx context.Context) ([]Client, error) {
	return listOf[Client](ctx, q, `SELECT * FROM client WHERE status = 'active' AND publish_types <> '[]' ORDER BY id`)
}

// ClientsWaiting lists the clients whose requests an administrator has to decide on, oldest first.
func (q *Queries) ClientsWaiting(ctx context.Context) ([]Client, error) {
	return listOf[Client](ctx, q, `SELECT * FROM client WHERE status = 'active'
		AND (requested_scopes <> '[]' OR requested_types <> '[]' OR requested_sources <> '[]' OR requested_keys <> '') ORDER BY id`)
}

// SigningKey is a key of our token issuer; the private part is sealed.
type SigningKey struct {
	ID         string `db:"id"`
	Algorithm  string `db:"algorithm"`
	PrivateKey string `db:"private_key"`
	CreatedAt  Time   `db:"created_at"`
	RetiredAt  Time   `db:"retired_at"`
}

// InsertSigningKey adds a key under a new id (its JWK kid). It starts now, unless it says when.
func (tx *Tx) InsertSigningKey(ctx context.Context, k *SigningKey) error {
	if k.ID == "" {
		k.ID = tx.NewID("key")
	}
	if k.CreatedAt.IsZero() {
		k.CreatedAt = tx.Now
	}
	return tx.insert(ctx, "signing_key", k)
}

// SigningKeys lists the keys, newest first.
func (q *Queries) SigningKeys(ctx context.Context) ([]SigningKey, error) {
	return listOf[SigningKey](ctx, q, `SELECT * FROM signing_key ORDER BY created_at DESC, id DESC`)
}

// RetireSigningKey stops a key from signing at a moment, unless it stops before; it stays published while tokens of it live.
func (tx *Tx) RetireSigningKey(ctx context.Context, id string, at Time) error {
	return tx.one(ctx, `UPDATE signing_key SET retired_at = ? WHERE id = ? AND (retired_at IS NULL OR retired_at > ?)`, at, id, at)
}

// ReadKey is a static token with which a pipeline reads the contract register as
// its partner does. The token itself is not kept.
type ReadKey struct {
	ID           string `db:"id"`
	PartnerID    string `db:"partner_id"`
	Name         string `db:"name"`
	SecretHash   string `db:"secret_hash"`
	Hint         string `db:"hint"` // its last characters
	CreatedAt    Time   `db:"created_at"`
	CreatedBy    string `db:"created_by"`
	ExpiresAt    Time   `db:"expires_at"`   // unset: never
	LastUsedAt   Time   `db:"last_used_at"` // to the hour or so; unset: never
	RevokedAt    Time   `db:"revoked_at"`
	RevokeReason string `db:"revoke_reason"`
}

// InsertReadKey adds a key under a new id.
func (tx *Tx) InsertReadKey(ctx context.Context, k *ReadKey) error {
	k.ID, k.CreatedAt = tx.NewID("rdk"), tx.Now
	return tx.insert(ctx, "read_key", k)
}

// RevokeReadKey ends a key; ErrNotFound when it is revoked already.
func (tx *Tx) RevokeReadKey(ctx context.Context, id, reason string) error {
	return tx.one(ctx, `UPDATE read_key SET revoked_at = ?, revoke_reason = ? WHERE id = ? AND revoked_at IS NULL`, tx.Now, reason, id)
}

// TouchReadKey records that a key was used now.
func (tx *Tx) TouchReadKey(ctx context.Context, id string) error {
	return tx.one(ctx, `UPDATE read_key SET last_used_at = ? WHERE id = ?`, tx.Now, id)
}

// ReadKey finds a key by its id.
func (q *Queries) ReadKey(ctx context.Context, id string) (ReadKey, error) {
	return getOne[ReadKey](ctx, q, `SELECT * FROM read_key WHERE id = ?`, id)
}

// ReadKeyBySecret finds a key by the hash of its token.
func (q *Queries) ReadKeyBySecret(ctx context.Context, hash string) (ReadKey, error) {
	return getOne[ReadKey](ctx, q, `SELECT * FROM read_key WHERE secret_hash = ?`, hash)
}

// ReadKeys lists the keys of a partner, newest first.
func (q *Queries) ReadKeys(ctx context.Context, partnerID string) ([]ReadKey, error) {
	return listOf[ReadKey](ctx, q, `SELECT * FROM read_key WHERE partner_id = ? ORDER BY id DESC`, partnerID)
}
