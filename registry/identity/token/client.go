package token

import (
	"context"
	"errors"
	"time"
)

// The ways a client may authenticate at the token endpoint, by their names in
// the IANA registry (SEC-02).
const (
	PrivateKeyJWT     = "private_key_jwt"
	ClientSecretBasic = "client_secret_basic"
	ClientSecretPost  = "client_secret_post"
)

// StatusActive is the only [Client] status that gets tokens and whose tokens
// are accepted. Clients must map a suspended client, or a client of a suspended
// partner, to any other text.
const StatusActive = "active"

// ErrUnknownClient is the error of [Clients] for an id it does not hold.
var ErrUnknownClient = errors.New("unknown client")

// Client holds what the token endpoint needs to know about an OAuth client.
type Client struct {
	ID        string
	PartnerID string // empty for a client of the own organisation
	Name      string
	Status    string // StatusActive, or anything else to refuse it

	// AuthMethod is the one method this client may use.
	AuthMethod string
	SecretHash string // from NewSecret; empty for private_key_jwt
	JWKS       []byte // public keys, checked with ParseJWKS
	JWKSURI    string // https address of the public keys; wins over JWKS

	Scopes []string // all scopes the client may ask for

	// TokenVersion goes into every access token. Raising it refuses all tokens
	// given out before.
	TokenVersion int64
}

// Clients finds clients by id.
type Clients interface {
	// TokenClient answers the client, or ErrUnknownClient. Any other error is
	// taken as an outage: the caller is told to try again.
	TokenClient(ctx context.Context, clientID string) (Client, error)
}

// Replay remembers used assertions. All nodes of an installation must share it
// (SEC-04).
type Replay interface {
	// UseOnce records key, a hash in hexadecimal, and reports whether it was new.
	// The record may be forgotten after expires.
	UseOnce(ctx context.Context, key string, expires time.Time) (bool, error)
}
