package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"

	"schakel/delivery/outbound"
	"schakel/delivery/trace"
	"schakel/templates/i18n"
)

// Send makes one attempt to deliver one event. It never fails: the Outcome holds the problem. After a 401 the cached token is
// dropped, so that the next attempt gets a new one; Send itself tries only once.
func (s *Sender) Send(ctx context.Context, t Target, m Message) Outcome {
	header, body := m.Encode(t.Mode)
	out := s.post(ctx, t, header, body, m.IdempotencyKey)
	s.logger.DebugContext(ctx, "webhook attempt", slog.String("endpoint", t.EndpointID), slog.Int("attempt", m.Attempt),
		slog.Int("status", out.Status), slog.String("kind", string(out.Kind)), slog.Duration("duration", out.Duration))
	return out
}

// Encode returns the header and the body that carry the event in a mode. The trace of an event that has one goes into the headers of W3C
// Trace Context too, unchanged, so that spans of the receiver become children of the publisher's; those of a recorded attempt become its own.
func (m Message) Encode(mode string) (header http.Header, body []byte) {
	if mode == ModeBinary && len(m.Data) > 0 && m.Event.CanBinary() {
		header, body = m.Event.BinaryHeader(), m.Data
	} else {
		header, body = http.Header{"Content-Type": {"application/cloudevents+json"}}, m.Event.AppendJSON(make([]byte, 0, len(m.Data)+512))
	}
	if parent, state := m.Event.TraceContext(); parent != "" {
		header["Traceparent"] = []string{parent}
		if state != "" {
			header["Tracestate"] = []string{state}
		}
	}
	return header, body
}

// SendBatch makes one attempt to deliver a batch (EDU-11), already encoded as application/cloudevents-batch+json. A retry must
// pass the same bytes with the same key (IDEM-11).
func (s *Sender) SendBatch(ctx context.Context, t Target, body []byte, key string) Outcome {
	return s.post(ctx, t, http.Header{"Content-Type": {"application/cloudevents-batch+json"}}, body, key)
}

func (s *Sender) post(ctx context.Context, t Target, header http.Header, body []byte, key string) Outcome {
	out := Outcome{StartedAt: s.now(), RequestHeader: header}
	req, err := s.targets.request(t, body)
	if err != nil || !validKey(key) {
		out.Kind, out.Detail = KindRequest, "verdict.error.request"
		return out
	}
	header["Idempotency-Key"] = []string{`"` + key + `"`}
	if span := trace.From(ctx); span != nil {
		header["Traceparent"] = []string{span.Parent()}
	}
	token, err := s.token(ctx, t)
	if err != nil {
		return tokenOutcome(out, err)
	}
	t.Sign.Add(header, req.URL, key, body, s.now())
	req.Header = s.sent(header, token)
	if token != "" {
		header["Authorization"] = []string{"Bearer " + redacted}
	}
	req.Close = t.Single
	out = s.exchange(ctx, t, req, out)
	answer := out.ResponseBody
	if s.answers {
		out.ResponseBody = nil
	}
	out.scrub(token, t.Token, s.most)
	if s.answers {
		out.setAnswer(answer, s.most)
	}
	if out.Status == http.StatusUnauthorized && token != "" {
		out.FreshToken = s.tokens.reject(t.EndpointID, token)
	}
	return out
}

func (s *Sender) exchange(ctx context.Context, t Target, req *http.Request, out Outcome) Outcome {
	if t.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t.Timeout)
		defer cancel()
	}
	began := s.now()
	resp, err := s.client.DoFor(outbound.WithCertificate(ctx, t.Certificate), t.EndpointID, req)
	ended := s.now()
	out.Duration = ended.Sub(began)
	if resp == nil {
		out.Kind, out.Detail = ErrorKind(outbound.Kind(err)), err.Error()
		out.Unasked = out.Kind == outbound.KindUnasked
		return out
	}
	out.Status, out.Unasked = resp.Status, resp.Unasked
	out.RetryAfter, _ = ParseRetryAfter(resp.Header.Get("Retry-After"), ended)
	out.ResponseHeader, out.ResponseBody, out.Truncated = resp.Header, resp.Body, resp.Truncated
	return out
}

func (s *Sender) token(ctx context.Context, t Target) (string, error) {
	if t.Token == nil || t.Token.AuthMethod == AuthNone {
		return "", nil
	}
	return s.tokens.get(ctx, t.EndpointID, *t.Token)
}

func tokenOutcome(out Outcome, err error) Outcome {
	out.Kind, out.Detail = KindToken, string(i18n.M("verdict.error.token", err.Error()))
	if failure, ok := errors.AsType[*TokenError](err); ok {
		out.Token, out.RetryAfter = failure, failure.RetryAfter
		return out
	}
	// Anything else is the context of this one attempt that ended.
	out.Kind = ErrorKind(outbound.Kind(err))
	return out
}

// sent makes a header of its own for the request: the connection may still be reading it when the outcome's header is already
// being stored. With our name in it the client need not make another copy.
func (s *Sender) sent(header http.Header, token string) http.Header {
	sent := make(http.Header, len(header)+2)
	maps.Copy(sent, header)
	sent["User-Agent"] = s.agent
	if token != "" {
		sent["Authorization"] = []string{"Bearer " + token}
	}
	return sent
}

// validKey keeps anything that would end the quoted string out of it.
func validKey(key string) bool {
	const allowed = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.:"
	return key != "" && len(key) <= 128 && strings.Trim(key, allowed) == ""
}

// requestCache holds, by endpoint, the request that goes to its URL, but for header and body: parsing a URL again for each
// delivery costs as much as encoding its event.
type requestCache struct {
	mu         sync.Mutex
	byEndpoint map[string]preparedRequest
}

// preparedRequest is an empty request to a URL, or the error of making it.
type preparedRequest struct {
	url     string
	request *http.Request
	err     error
}

// request makes a POST to a target. The caller sets its context and header.
func (t *requestCache) request(to Target, body []byte) (*http.Request, error) {
	m := t.of(to)
	if m.err != nil {
		return nil, m.err
	}
	req := *m.request
	req.ContentLength = int64(len(body))
	// The transport asks for the body again when a connection turns out to be closed before anything was answered.
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.Body, _ = req.GetBody()
	if len(body) == 0 {
		req.Body, req.GetBody = http.NoBody, nil
	}
	return &req, nil
}

func (t *requestCache) of(to Target) preparedRequest {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, ok := t.byEndpoint[to.EndpointID]
	if !ok || m.url != to.URL {
		m.url = to.URL
		m.request, m.err = http.NewRequestWithContext(context.Background(), http.MethodPost, to.URL, http.NoBody)
		t.byEndpoint[to.EndpointID] = m
	}
	return m
}

func (t *requestCache) forget(endpointID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byEndpoint, endpointID)
}

const (
	redacted       = "[redacted]"
	maxStoredBody  = 4 << 10
	maxStoredHead  = 4 << 10
	maxStoredValue = 256
)

// Secret is text that must not be seen. Every common way of printing it gives "[redacted]"; string(secret) gives the text.
type Secret string

// String hides the text.
func (Secret) String() string { return redacted }

// GoString hides the text.
func (Secret) GoString() string { return redacted }

// LogValue hides the text.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON hides the text.
func (Secret) MarshalJSON() ([]byte, error) { return json.Marshal(redacted) }

// scrub bounds what will be stored, the body to most bytes, and takes out secrets
// that the other side sent back to us, as echoing receivers and error pages do.
func (o *Outcome) scrub(token string, cfg *TokenConfig, most int) {
	secrets := []string{token}
	if cfg != nil {
		secrets = append(secrets, string(cfg.Secret))
	}
	for _, secret := range secrets {
		o.hide(secret)
	}
	if len(o.ResponseBody) > most {
		// A copy lets go of the larger buffer.
		o.ResponseBody, o.Truncated = bytes.Clone(o.ResponseBody[:most]), true
	}
	if _, ok := o.ResponseHeader["Set-Cookie"]; ok {
		o.ResponseHeader["Set-Cookie"] = []string{redacted}
	}
	if headerSize(o.ResponseHeader) > maxStoredHead {
		o.ResponseHeader = essentials(o.ResponseHeader)
	}
}

// setAnswer puts an answer in the outcome unchanged, cut off after most bytes.
func (o *Outcome) setAnswer(body []byte, most int) {
	if len(body) > most {
		body, o.Truncated = body[:most], true
	}
	o.ResponseBody = body
}

func (o *Outcome) hide(secret string) {
	if secret == "" {
		return
	}
	if bytes.Contains(o.ResponseBody, []byte(secret)) {
		o.ResponseBody = bytes.ReplaceAll(o.ResponseBody, []byte(secret), []byte(redacted))
	}
	for _, values := range o.ResponseHeader {
		for i, value := range values {
			values[i] = strings.ReplaceAll(value, secret, redacted)
		}
	}
}

func headerSize(header http.Header) (size int) {
	for name, values := range header {
		for _, value := range values {
			size += len(name) + len(value)
		}
	}
	return size
}

// essentials returns the headers that help to find a fault when the whole is too much.
func essentials(header http.Header) http.Header {
	short := http.Header{}
	for _, name := range []string{"Content-Type", "Date", "Location", "Retry-After", "Server", "Www-Authenticate"} {
		if value := header.Get(name); value != "" {
			short.Set(name, cut(value, maxStoredValue))
		}
	}
	return short
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
