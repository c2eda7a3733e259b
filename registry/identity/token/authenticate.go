package token

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json"
	"github.com/go-jose/go-jose/v4/jwt"
)

// credentials holds the proof that a request offers, by one method.
type credentials struct {
	method    string
	clientID  string // empty when only the assertion names it
	secret    string
	assertion string
}

func (i *Issuer) authenticate(ctx context.Context, req Request) (Client, *OAuthError) {
	client, fail := i.identify(ctx, req)
	// RFC 6749, 5.2: who tried Basic is told so with a challenge.
	if fail != nil && req.HasBasic && fail.Code == "invalid_client" {
		fail.Challenge = `Basic realm="token", charset="UTF-8"`
	}
	return client, fail
}

func (i *Issuer) identify(ctx context.Context, req Request) (Client, *OAuthError) {
	cred, fail := readCredentials(req)
	if fail != nil {
		return Client{}, fail
	}
	if !slices.Contains(i.authMethods(ctx), cred.method) {
		return Client{}, invalidClient(cred.method+" is not offered here", nil)
	}
	var client Client
	switch cred.method {
	case PrivateKeyJWT:
		client, fail = i.checkAssertion(ctx, cred)
	case TLSClientAuth:
		client, fail = i.checkTLS(ctx, cred)
	default:
		client, fail = i.checkSecret(ctx, cred)
	}
	if fail != nil {
		return Client{}, fail
	}
	return i.admit(ctx, client, cred.method, req.Certificate)
}

// admit comes after the proof, so its error may name the cause.
func (i *Issuer) admit(ctx context.Context, client Client, method string, cert *x509.Certificate) (Client, *OAuthError) {
	if client.AuthMethod != method {
		return Client{}, invalidClient("this client is registered for another authentication method", nil)
	}
	if client.Status != StatusActive {
		return Client{}, badRequest("unauthorized_client", "this client is not active, ask the administrator")
	}
	switch {
	case cert == nil && client.CertificateBound:
		return Client{}, invalidClient("this client gets tokens that are bound to its certificate: connect with it", nil)
	case cert == nil:
		return client, nil
	}
	if err := client.CheckCertificate(cert); err != nil {
		return Client{}, invalidClient(ascii(err.Error()), err)
	}
	i.note(ctx, client, cert)
	return client, nil
}

// readCredentials finds the one method used. RFC 6749, 2.3 forbids two, and 3.2
// takes a parameter without a value for one that is absent.
func readCredentials(req Request) (credentials, *OAuthError) {
	form := req.Form
	cred := credentials{
		clientID: form.Get("client_id"), secret: form.Get("client_secret"), assertion: form.Get("client_assertion"),
	}
	var methods []string
	if req.HasBasic {
		methods = append(methods, ClientSecretBasic)
	}
	if cred.secret != "" {
		methods = append(methods, ClientSecretPost)
	}
	if cred.assertion != "" {
		methods = append(methods, PrivateKeyJWT)
	}
	if len(methods) == 0 && req.Certificate != nil && cred.clientID != "" {
		methods = append(methods, TLSClientAuth)
	}
	switch len(methods) {
	case 0:
		return cred, invalidClient("the client did not authenticate", nil)
	case 1:
		cred.method = methods[0]
	default:
		return cred, invalidRequest("use one client authentication method, not two")
	}
	if cred.method == PrivateKeyJWT && form.Get("client_assertion_type") != assertionType {
		return cred, invalidRequest("client_assertion_type must be " + assertionType)
	}
	if cred.method == ClientSecretBasic {
		return readBasic(cred, req)
	}
	return cred, nil
}

// readBasic undoes the form encoding that RFC 6749, 2.3.1 puts below Basic.
func readBasic(cred credentials, req Request) (credentials, *OAuthError) {
	user, err := url.QueryUnescape(req.BasicUser)
	if err != nil {
		return cred, notAuthenticated(fmt.Errorf("decode basic user: %w", err))
	}
	if cred.secret, err = url.QueryUnescape(req.BasicPassword); err != nil {
		// The cause would quote a part of the secret.
		return cred, notAuthenticated(errors.New("decode basic password"))
	}
	if cred.clientID != "" && cred.clientID != user {
		return cred, invalidRequest("client_id differs from the user of the Authorization header")
	}
	cred.clientID = user
	return cred, nil
}

// checkSecret takes the same steps whether the client is unknown, has no secret, or has another one.
func (i *Issuer) checkSecret(ctx context.Context, cred credentials) (Client, *OAuthError) {
	client, err := i.cfg.Clients.TokenClient(ctx, cred.clientID)
	if err != nil && !errors.Is(err, ErrUnknownClient) {
		return Client{}, unavailable(fmt.Errorf("find client: %w", err))
	}
	known := err == nil && client.SecretHash != ""
	hash := client.SecretHash
	if !known {
		hash = decoyHash
	}
	if !i.matches(cred.secret, hash) || !known {
		return Client{}, notAuthenticated(err)
	}
	return client, nil
}

// The ways a client may authenticate at the token endpoint, by their names in the IANA registry (SEC-02).
const (
	PrivateKeyJWT     = "private_key_jwt"
	ClientSecretBasic = "client_secret_basic"
	ClientSecretPost  = "client_secret_post"
)

// StatusActive is the only [Client] status that gets tokens and whose tokens are accepted. Clients must map a suspended client,
// or a client of a suspended partner, to any other text.
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

	// OIN identifies its organisation, and a certificate must name it (SEC-15); empty when it has none.
	OIN string
	// CertificateSubject is the subject that its certificates must have (RFC 4514). Default any with the OIN.
	CertificateSubject string
	// CertificateBound gives it tokens that only its certificate can use (RFC 8705, SEC-13).
	CertificateBound bool
	// DPoPBound gives it tokens that only the holder of its key can use (RFC 9449, SEC-13).
	DPoPBound bool
	// CertificateKeys accepts a key that comes with a certificate in its assertion, beside the keys that are registered (SEC-06).
	CertificateKeys bool

	// TokenVersion goes into every access token. Raising it refuses all tokens given out before.
	TokenVersion int64
}

// Clients finds clients by id.
type Clients interface {
	// TokenClient answers the client, or ErrUnknownClient. Any other error is
	// taken as an outage: the caller is told to try again.
	TokenClient(ctx context.Context, clientID string) (Client, error)
}

// Replay remembers used assertions. All nodes of an installation must share it (SEC-04).
type Replay interface {
	// UseOnce records key, a hash in hexadecimal, and reports whether it was new. The record may be forgotten after expires.
	UseOnce(ctx context.Context, key string, expires time.Time) (bool, error)
}

const (
	assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	// maxAssertionBytes leaves room for a certificate chain in the header.
	maxAssertionBytes = 16 << 10
	// maxAssertionLife bounds how far ahead exp may lie, so that the record of used assertions stays small.
	maxAssertionLife = 5 * time.Minute
	maxIDBytes       = 256
)

// assertionAlgs are the asymmetric algorithms a client may sign with (SEC-04).
var assertionAlgs = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// checkAssertion authenticates a client by private_key_jwt (RFC 7523, SEC-04). What does not depend on the client is checked
// first, so that its errors can be precise without telling which clients exist.
func (i *Issuer) checkAssertion(ctx context.Context, cred credentials) (Client, *OAuthError) {
	tok, claims, err := i.readAssertion(cred)
	var chain []*x509.Certificate
	if err == nil && i.cfg.CheckChain != nil {
		chain, err = chainOf(cred.assertion)
	}
	if err != nil {
		return Client{}, invalidClient("client_assertion: "+err.Error(), nil)
	}
	client, err := i.cfg.Clients.TokenClient(ctx, claims.Subject)
	if errors.Is(err, ErrUnknownClient) {
		return Client{}, notAuthenticated(err)
	}
	if err != nil {
		return Client{}, unavailable(fmt.Errorf("find client: %w", err))
	}
	key, err := i.checkSignature(ctx, client, tok, chain)
	if err != nil {
		return Client{}, notAuthenticated(err)
	}
	if i.cfg.CheckChain == nil {
		key.Certificates = nil
	}
	for _, shown := range [][]*x509.Certificate{key.Certificates, chain} {
		if len(shown) == 0 {
			continue
		}
		if fail := i.checkChain(ctx, client, tok, shown); fail != nil {
			return Client{}, fail
		}
		i.note(ctx, client, shown[0])
	}
	fresh, err := i.cfg.Replay.UseOnce(ctx, replayKey(claims), claims.Expiry.Time().Add(skew+time.Second))
	if err != nil {
		return Client{}, unavailable(fmt.Errorf("record assertion: %w", err))
	}
	if !fresh {
		return Client{}, invalidClient("client_assertion: this jti has been used before", nil)
	}
	return client, nil
}

// readAssertion parses an assertion and checks its claims, not its signature.
func (i *Issuer) readAssertion(cred credentials) (signed, jwt.Claims, error) {
	var claims jwt.Claims
	tok, err := parseCompact(cred.assertion, maxAssertionBytes, assertionAlgs)
	if err != nil {
		return tok, claims, err
	}
	// Another kind of JWT by the same key must not pass for an assertion.
	if !slices.Contains([]string{"", "jwt", "client-authentication+jwt"}, tok.typ) {
		return tok, claims, errors.New("the typ is not that of an assertion")
	}
	if err := json.Unmarshal(tok.jws.UnsafePayloadWithoutVerification(), &claims); err != nil {
		return tok, claims, errors.New("the claims are not readable")
	}
	if cred.clientID != "" && cred.clientID != claims.Subject {
		return tok, claims, errors.New("client_id differs from sub")
	}
	return tok, claims, i.checkAssertionClaims(claims)
}

func (i *Issuer) checkAssertionClaims(c jwt.Claims) error {
	now := i.cfg.Now()
	switch {
	case c.Subject == "" || c.Issuer != c.Subject:
		return errors.New("iss and sub must both be the client_id")
	case !i.isOurs(c.Audience):
		return errors.New(ascii("aud must be the token endpoint " + i.cfg.TokenEndpoint + " or the issuer " + i.cfg.Issuer + ", and nothing else"))
	case c.Expiry == nil || c.IssuedAt == nil:
		return errors.New("exp and iat are required")
	case !c.Expiry.Time().Add(skew).After(now):
		return errors.New("it has expired")
	case c.Expiry.Time().After(now.Add(maxAssertionLife + skew)):
		return errors.New("exp may be at most 5 minutes ahead")
	case c.IssuedAt.Time().After(now.Add(skew)):
		return errors.New("iat lies in the future")
	case c.NotBefore != nil && c.NotBefore.Time().After(now.Add(skew)):
		return errors.New("nbf lies in the future")
	case c.ID == "" || len(c.ID) > maxIDBytes:
		return errors.New("jti is required, of at most 256 bytes")
	}
	return nil
}

// isOurs refuses an assertion that is also meant for somebody else, who could use it here.
func (i *Issuer) isOurs(audience jwt.Audience) bool {
	for _, a := range audience {
		if a != i.cfg.TokenEndpoint && a != i.cfg.Issuer {
			return false
		}
	}
	return len(audience) > 0
}

// replayKey hashes, so that a stranger's text of any length never becomes a key in the storage.
func replayKey(c jwt.Claims) string {
	sum := sha256.Sum256([]byte(c.Subject + "\x00" + c.ID))
	return hex.EncodeToString(sum[:])
}

// checkSignature tries the keys the client registered, or the one of the certificate in the assertion where the client is trusted by its
// certificates. It returns the registered key that signed, whose own certificates (x5c) count as those of an assertion do.
func (i *Issuer) checkSignature(ctx context.Context, client Client, tok signed, chain []*x509.Certificate) (jose.JSONWebKey, error) {
	if client.CertificateKeys {
		switch {
		case len(chain) > 0:
			return jose.JSONWebKey{}, nil // checkChain verifies with its key
		case len(client.JWKS) == 0 && client.JWKSURI == "":
			return jose.JSONWebKey{}, errNoChain
		}
	}
	if client.JWKSURI != "" {
		return i.checkRemote(ctx, client.JWKSURI, tok)
	}
	keys, err := usableKeys(client.JWKS)
	if err != nil {
		return jose.JSONWebKey{}, fmt.Errorf("read keys of client: %w", err)
	}
	return tok.signer(keys)
}
