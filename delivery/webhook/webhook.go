// Package webhook sends one claimed delivery, or one batch, to a partner's webhook and judges the answer.
//
// It has two halves. Sender does the sending: it fetches and caches access tokens, posts the event through the guarded client of
// package outbound and reports an Outcome. Verdict is pure: it turns an outcome and the facts of the delivery into a Decision by
// the answer table of CE-74. Nothing here touches the database; the engine stores both.
//
// A 2xx counts from its status line on. When the body after it breaks off the event is delivered all the same, because sending
// again could only repeat it.
package webhook

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"

	"schakel/delivery/outbound"
)

// The modes in which one event travels (CE-50, CE-51).
const (
	ModeStructured = "structured" // application/cloudevents+json, the default
	ModeBinary     = "binary"     // attributes in ce- headers, data as the body; structured where that cannot be
)

// Target is the destination of a delivery.
type Target struct {
	EndpointID string       // key of the token cache
	URL        string       // https; http only where the client allows it
	Mode       string       // ModeStructured ("" too) or ModeBinary
	Token      *TokenConfig // nil when the endpoint asks for no token
	Sign       Signatures   // of each request; none when it is empty
	// Certificate is shown to a receiver that asks for a client certificate; nil for none.
	Certificate *outbound.Certificate
	Single      bool          // each request over a connection of its own: the receiver answered unasked before
	Timeout     time.Duration // of one attempt; 0 or more than the client's means the client's
}

// Payload is an event ready to be encoded; *event.Event is one.
type Payload interface {
	// AppendJSON appends the structured encoding.
	AppendJSON(dst []byte) []byte
	// CanBinary reports whether binary mode can carry the event.
	CanBinary() bool
	// BinaryHeader returns the ce- headers and Content-Type of binary mode. The caller may add to it.
	BinaryHeader() http.Header
	// TraceContext returns the values of the headers traceparent and tracestate, each "" when there is none.
	TraceContext() (parent, state string)
}

// Message is one event to send.
type Message struct {
	Event          Payload
	Data           []byte // the body in binary mode
	IdempotencyKey string // the bare UUID; it goes out in quotes (IDEM-I01)
	Attempt        int    // number of this attempt, for the log
}

// ErrorKind names the failure when there was no answer: one of outbound's Kind constants, or KindToken, KindEncryption or KindRequest. It is
// "" when there was an answer, whatever its status.
type ErrorKind string

// The kinds that come on top of those of package outbound.
const (
	KindToken ErrorKind = "token" // no access token could be had
	// KindEncryption: the data could not be encrypted, so that nothing was sent.
	KindEncryption ErrorKind = "encryption"
	KindRequest    ErrorKind = "request" // the request could not be made from what is configured
)

// Outcome records the request and the answer of one attempt, fit to be stored and shown: it holds no token and no secret.
type Outcome struct {
	Status         int           // HTTP status; 0 when Kind is set
	Kind           ErrorKind     // the failure when there was no answer
	Detail         string        // the failure in words, safe to show to the partner
	RetryAfter     time.Duration // from the answer, counted from StartedAt+Duration; 0 when absent
	RequestHeader  http.Header   // as sent, Authorization redacted
	ResponseHeader http.Header   // as received, at most about 4 KiB, cookies redacted
	ResponseBody   []byte        // at most Config.AnswerBytes, cut
	Truncated      bool          // whether it was cut
	StartedAt      time.Time     // when the attempt began, before a token was fetched
	Duration       time.Duration // of the webhook request alone
	FreshToken     bool          // after a 401: the next attempt will carry another token
	Unasked        bool          // the receiver sent bytes that no request asked for
	Token          *TokenError   // set when Kind is KindToken
}

// Config configures a Sender.
type Config struct {
	Client *outbound.Client // required
	Signer Signer           // our key for private_key_jwt; nil makes that method fail
	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default slog.Default; never gets payloads or secrets
	// AnswerBytes bounds the body of an answer that an Outcome holds, as far as the client lets it through. Such a body is a
	// message for somebody, so it stays unchanged. Default 4 KiB for the stored attempt, with secrets redacted.
	AnswerBytes int
}

// Sender sends deliveries. It is safe for concurrent use; make one for the whole program, because tokens are cached in it.
type Sender struct {
	client  *outbound.Client
	agent   []string // our User-Agent
	tokens  *tokenCache
	targets requestCache
	now     func() time.Time
	logger  *slog.Logger
	most    int  // bytes of an answer
	answers bool // bodies of answers are messages
}

// NewSender makes a Sender.
func NewSender(cfg Config) *Sender {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	answers := cfg.AnswerBytes > 0
	if !answers {
		cfg.AnswerBytes = maxStoredBody
	}
	fetcher := &tokenFetcher{client: cfg.Client, signer: cfg.Signer, now: cfg.Now, logger: cfg.Logger}
	return &Sender{
		client:  cfg.Client,
		agent:   []string{cfg.Client.UserAgent()},
		tokens:  &tokenCache{fetch: fetcher.fetch, now: cfg.Now, entries: map[string]*tokenEntry{}},
		targets: requestCache{byEndpoint: map[string]preparedRequest{}},
		now:     cfg.Now,
		logger:  cfg.Logger,
		most:    cfg.AnswerBytes,
		answers: answers,
	}
}

// Forget drops the cached request and token of an endpoint that was removed.
func (s *Sender) Forget(endpointID string) {
	s.tokens.forget(endpointID)
	s.targets.forget(endpointID)
	s.client.Forget(endpointID)
}
