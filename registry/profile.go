package registry

import (
	"context"
	"time"
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

	DedupeConsumer     = "consumer"     // consumers leave out repeated events
	DedupeIntermediary = "intermediary" // we leave out repeated events for everybody
	DedupeBoth         = "both"         // we and consumers
)

// ProfileSource gives the profile in force.
type ProfileSource interface {
	InForce(ctx context.Context) (*Profile, error)
}

// Profile holds the choices of a chain collaboration: how strictly it holds the
// rules of the Edukoppeling profile, and what that leaves to its users (OPEN-01 to
// OPEN-17). The table of Settings explains each member. A Profile that was handed
// out is immutable.
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

	SpecVersions       string // EDU-21
	PartnerPublication string // EDU-21
	MinScore           int    // 0 to 100 (EDU-21)
	ClientAuth         string // SEC-02

	AMQPSubjects []string // codes of list 8279 (AMQP-21)
	AMQPUnwanted string   // AMQP-16
}

// Content modes of a webhook, and the method of an endpoint without credentials.
const (
	ModeStructured = "structured"
	ModeBinary     = "binary"
	TokenAuthNone  = "none"
)
