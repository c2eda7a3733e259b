package registry

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"schakel/store"
	"schakel/templates/i18n"
)

// Doer sends a request, as an http.Client does.
type Doer interface {
	Do(r *http.Request) (*http.Response, error)
}

// Config holds what the services of the registry are built from. A member without a default must be set.
type Config struct {
	DB  *store.DB
	Now func() time.Time
	Log *slog.Logger
	// BaseURL is the address of the portal, for the links in mails, without a slash at its end.
	BaseURL string
	// Organisation is the name of the organisation that runs this Schakel.
	Organisation string
	// Language and TimeZone apply to mails to whoever chose none, the language until they log in. Default English and UTC.
	Language i18n.Lang
	TimeZone *time.Location
	// TermsVersion names the terms a partner accepts. Default "1".
	TermsVersion string
	// Vault seals secrets before they are stored.
	Vault *Vault
	// CheckURL judges an address a partner wants us to send to; its error is shown to that partner.
	CheckURL func(string) error
	// CheckFilters judges the filters of a subscription, a JSON list; its error
	// is shown to that partner. Default none: no filters are taken.
	CheckFilters func(string) error
	// CheckRecipient tidies whom the data of a subscription is encrypted for, a JWK, a JWK set or the address of one, and explains what is
	// wrong with it. Default none: nothing is encrypted.
	CheckRecipient func(ctx context.Context, text string) (tidy string, wrong i18n.Message)
	// CheckWindows judges when an endpoint may be sent to; its error is shown to
	// that partner. Default none: no windows are taken.
	CheckWindows func(string) error
	// ReadArea checks the boundary of an area, WKT or GeoJSON, given in the coordinate system crs where it does not say, and
	// gives it as WKT in the system target (EPSG codes); its error is shown to the partner. Default none: no polygons are taken.
	ReadArea func(given string, crs, target int) (wkt string, err error)
	// ServedKinds are the kinds of endpoint this program can serve. Default webhook alone.
	ServedKinds []string
	// Profile is the profile of the chain collaboration where nobody chose anything else. What is zero is as in DefaultProfile.
	Profile Profile
	// AllowOpenEndpoints permits endpoints without credentials. Default no: a receiver gives credentials (EDU-14).
	AllowOpenEndpoints bool
	// ShowsCertificate is set when endpoints without a client certificate of their own are shown that of the organisation.
	ShowsCertificate bool
	// LocalAccounts limits who may log in with a password: LocalOn, LocalAdministrators or LocalOff. Default LocalOn.
	LocalAccounts string
	// BreakGlass is the e-mail address of the one account that logs in with a password whatever LocalAccounts says. Default none.
	BreakGlass string
	// ExactCodes takes a code of an authenticator app in its own 30 seconds alone. Default no: one step early or late too, for phones whose clock is off.
	ExactCodes bool
	// MailServer says that mails are sent. Without it administrators may read their texts, to hand links over in another way.
	MailServer bool
	// OwnDocuments describe our own APIs and events, for the register. Default none.
	OwnDocuments []OwnDocument
	// MirrorHTTP fetches from the registers that are mirrored, and what documents of the own organisation refer to; it
	// follows no redirects, and decides where requests may go. Default none: runs fail.
	MirrorHTTP Doer
	// ChallengeHTTP asks the hosts of changed destinations for their challenge; it follows no redirects, and decides where requests may go as
	// deliveries do. Default none: nothing is proved.
	ChallengeHTTP Doer
	// PublicHTTP fetches what documents of partners refer to, from public addresses alone. Default none: it is refused.
	PublicHTTP Doer
	// Certificates is set where certificates of clients can be held against roots, ClientTLS where our token endpoint also asks for them
	// in TLS, so that clients can be registered for that. Default no.
	Certificates, ClientTLS bool
	// CheckChain checks the certificates of a key that is registered, its own first, up to a trusted root; its error is shown, and
	// token.ErrRevocationUnknown when nobody says now whether one was revoked. Default none: they are judged when the key is used.
	CheckChain func(ctx context.Context, chain []*x509.Certificate) error
	// TokenIssuers lists other issuers, by id, whose tokens our APIs take. Default none.
	TokenIssuers []string
	// Mandates judges who acts for another organisation. Default none: nobody is asked.
	Mandates Mandates
	// OINRegister gives the names of organisations by their OIN. Default none: names are not held against a register.
	OINRegister OINRegister
	// SecondPerson makes actions wait for a second person. The services set it. Default none: nothing waits.
	SecondPerson SecondPerson
	// MaxDocumentBytes bounds a contract that is mirrored. Default 16 MiB.
	MaxDocumentBytes int64
}

// OINRegister gives the name under which an organisation with an OIN is registered; known is false for an OIN that the register does
// not hold.
type OINRegister interface {
	OrganisationOf(ctx context.Context, oin string) (name string, known bool, err error)
}

// WithDefaults fills in what has a default.
func (c Config) WithDefaults() Config {
	c.BaseURL = strings.TrimSuffix(c.BaseURL, "/")
	if c.TermsVersion == "" {
		c.TermsVersion = "1"
	}
	if len(c.ServedKinds) == 0 {
		c.ServedKinds = []string{store.EndpointWebhook}
	}
	return c
}

// Check refuses a configuration that lacks what has no default.
func (c Config) Check() error {
	if c.DB == nil || c.Now == nil || c.Log == nil || c.Vault == nil || c.CheckURL == nil || c.BaseURL == "" || c.Organisation == "" {
		return errors.New("registry: DB, Now, Log, Vault, CheckURL, BaseURL and Organisation must be set")
	}
	return nil
}

// OwnDocument describes one of our own APIs, or the events we send ourselves.
type OwnDocument struct {
	ID      string // of its contract
	Title   string
	Summary string
	Content []byte // OpenAPI or AsyncAPI; its version is that of its info
	// Internal keeps it from partners, who could use nothing of it.
	Internal bool
}

// Who may log in with a password.
const (
	LocalOn             = "on"
	LocalAdministrators = "administrators"
	LocalOff            = "off"
)

// Values that settings of a profile share. What each means stands with its setting.
const (
	PolicyRequire = "require"
	PolicyEnforce = "enforce"
	PolicyRefuse  = "refuse"
	PolicyStrict  = "strict"
	PolicyWarn    = "warn"
	PolicyAccept  = "accept"
	PolicyOn      = "on"
	PolicyOff     = "off"
)

// Values of single settings.
const (
	KeyQuoted  = "quoted"  // an Idempotency-Key stands in quotes (IDEM-I01)
	KeyLenient = "lenient" // its quotes may be left out (OPEN-17)

	SourceURNOIN = "urn-nld-oin" // a source is urn:nld:oin: with an OIN of 20 digits (CE-08)
	SourceURN    = "urn-nld"     // a source is a URN of namespace nld
	SourceAny    = "any"         // any URI-reference

	OversizeReject     = "reject"      // an event that is too large is refused
	OversizeClaimCheck = "claim_check" // its data is kept as an object, to which the event refers (EDU-01a)

	MismatchQuarantine = "quarantine" // a key that is used for something else: kept aside until a person decides (E11)
	ConcurrentWait     = "wait"       // a repeat waits for the answer to the first (E12)

	PublicationApprove = "approve" // a version of a partner is published by an administrator, at its request
	PublicationDirect  = "direct"  // partners publish versions of what they own

	UnwantedHold   = "hold"   // a message by AMQP that nobody is subscribed to is held, without an AppRec, until somebody is
	UnwantedReject = "reject" // it gets a negative AppRec

	DataKept   = "keep"  // it stays until retention removes it, or an administrator erases it
	DataErased = "erase" // it is erased when no delivery of it is left to do

	FactorOptional = "optional" // each person chooses whether to log in with a second factor

	DestinationAtOnce   = "at-once"  // a changed destination of an endpoint counts at once
	DestinationApproval = "approval" // somebody of the organisation approves it
	DestinationProof    = "proof"    // the new host answers a challenge

	DedupeConsumer     = "consumer"     // consumers leave out repeated events
	DedupeIntermediary = "intermediary" // we leave out repeated events for everybody
	DedupeBoth         = "both"         // we and consumers
)

// ProfileSource gives the profile in force.
type ProfileSource interface {
	InForce(ctx context.Context) (*Profile, error)
}

// Profile holds the choices of a chain collaboration: how strictly it holds the rules of the Edukoppeling profile, and what that
// leaves to its users (OPEN-01 to OPEN-17). The table of Settings explains each member. A Profile that was handed out is
// immutable.
type Profile struct {
	RequireKey   string        // IDEM-02
	KeySyntax    string        // IDEM-I01
	KeyLifetime  time.Duration // IDEM-07
	WriteKey     string        // IDEM-03
	DeleteKey    string        // IDEM-05
	OnMismatch   string        // IDEM-11, E11
	OnConcurrent string        // IDEM-I06, E12

	MaxEventBytes  int    // CE-32
	Oversize       string // EDU-01a
	MaxObjectBytes int    // EDU-01a
	Batches        string // EDU-16
	MaxBatchEvents int    // CE-56
	MaxBatchBytes  int    // CE-56
	UnknownTypes   string // CE-15
	Payload        string // CE-15
	TypePolicy     string // CE-12
	SourcePolicy   string // CE-08
	SourceAction   string // CE-08
	Sensitive      string // EDU-26
	SourceBinding  string // CE-10

	ClientRate  float64 // requests a second, 0 for no limit (EDU-20)
	ClientBurst int     // EDU-20

	RetryWaits      []time.Duration // EDU-18
	RetryAttempts   int             // EDU-18
	RetryDeadline   time.Duration   // IDEM-12
	MaxRetryAfter   time.Duration   // EDU-10
	CircuitFailures int             // 0 for never (EDU-12)
	CircuitWait     time.Duration   // EDU-12
	CircuitMaxWait  time.Duration   // EDU-12
	ContentMode     string          // CE-50
	DedupeAt        string          // EDU-18b
	NewDestination  string          // whether a changed destination of an endpoint waits: one of the Destination constants
	SignKeyDays     int             // age at which Ed25519 keys that sign requests to endpoints are replaced; 0 for never

	SpecVersions       string // EDU-21
	PartnerPublication string // EDU-21
	MinScore           int    // 0 to 100 (EDU-21)
	ClientAuth         string // SEC-02
	TokenKeyDays       int    // age at which the key of access tokens is replaced; 0 for never (SEC-05)
	ProofNonce         string // whether DPoP proofs need a nonce of ours: PolicyOff or PolicyRequire (SEC-13)

	AMQPSubjects []string // codes of list 8279 (AMQP-21)
	AMQPUnwanted string   // AMQP-16

	AdministratorFactor string        // whether administrators log in with a second factor: PolicyRequire or FactorOptional
	PartnerFactor       string        // the same of people of partners
	AdministratorIdle   time.Duration // a login of somebody of the organisation that is not used ends after it
	AdministratorLogin  time.Duration // how long a login of somebody of the organisation lasts
	PartnerIdle         time.Duration
	PartnerLogin        time.Duration
	// Limits of one role, where they are shorter than those of its side; 0 for none.
	AdministratorRoleIdle, AdministratorRoleLogin time.Duration
	ManagerIdle, ManagerLogin                     time.Duration

	ProofAge time.Duration // after which a change of keys, endpoints or people asks who it is again

	// What waits for a second person: PolicyOn or PolicyOff. ConfirmationAge ends what waits longer.
	TwoApprovals, TwoRoutes, TwoDiscards, TwoSettings string
	ConfirmationAge                                   time.Duration

	DataEncryption string // PolicyOn encrypts the data of events and messages that is stored from now on
	DataEnded      string // what happens to what a partner sent once it ended: DataKept or DataErased
}

// Content modes of a webhook, and the method of an endpoint without credentials.
const (
	ModeStructured = "structured"
	ModeBinary     = "binary"
	TokenAuthNone  = "none"
	TokenAuthTLS   = "tls_client_auth" // #nosec G101 -- the name of a method
)
