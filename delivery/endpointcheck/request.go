package endpointcheck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"schakel/delivery/event"
	"schakel/delivery/jwe"
	"schakel/delivery/outbound"
	"schakel/delivery/outbox"
	"schakel/delivery/webhook"
	"schakel/templates/i18n"
)

// Media types of the requests.
const (
	mediaEvent = "application/cloudevents+json"
	mediaBatch = "application/cloudevents-batch+json"
)

// mostRequests bounds what a check sends to a receiver.
const mostRequests = 30

// exchange is one request with what came of it.
type exchange struct {
	status     int    // 0 when there was no answer
	kind       string // of the failure, one of outbound's Kind constants
	retryAfter string
	took       time.Duration
	sent       string
	received   string
}

func (x exchange) accepted() bool { return x.status >= 200 && x.status < 300 }

// isBusy reports whether the receiver asked to come again later.
func (x exchange) isBusy() bool {
	return x.status == http.StatusTooManyRequests || x.status == http.StatusServiceUnavailable
}

// request holds the header and body of one test.
type request struct {
	header http.Header
	body   []byte
	key    string // of Idempotency-Key; empty is a new one
	token  string
	sign   *webhook.Signatures // in place of those of the target
	age    time.Duration       // of the signature
}

// prepare reads the example event, or makes one.
func (r *run) prepare() error {
	if len(r.Event) > 0 {
		if err := json.Unmarshal(r.Event, &r.base); err != nil || r.base == nil {
			return fmt.Errorf("read example event: it is no JSON object")
		}
	} else {
		r.base = map[string]any{
			"specversion": "1.0", "type": outbox.TestEventType, "source": r.Source, "datacontenttype": "application/json",
			"data": map[string]string{"message": "This is a check of the endpoint. Answer 202 and forget it."},
		}
	}
	r.base[outbox.TestExtension] = true
	r.base["time"] = r.now().UTC().Format("2006-01-02T15:04:05.000Z")
	_, err := event.ParseJSON(r.event(uuid.NewString()), event.Limits{EventBytes: 1 << 20})
	if err != nil {
		return fmt.Errorf("read example event: %w", err)
	}
	return nil
}

// encrypt encrypts the data of the event, where the subscriptions of the endpoint ask for that. Without a key there is a finding.
func (r *run) encrypt(ctx context.Context) *Finding {
	if r.Encrypt == nil {
		return nil
	}
	ev, err := event.ParseJSON(r.event(uuid.NewString()), event.Limits{EventBytes: 1 << 20})
	if err == nil {
		ev, err = r.Encrypt(ctx, &ev)
	}
	if err != nil {
		f := Finding{Code: "event", Result: Fault, Text: "verdict.error.encryption", Remedy: "check.remedy.encryption"}
		if wrong, ok := errors.AsType[*jwe.Problem](err); ok {
			f.Text = wrong.Message
		}
		return &f
	}
	if ev.DataKind != event.DataNone {
		delete(r.base, "data_base64")
		r.base["datacontenttype"], r.base["data"] = ev.DataContentType, string(ev.Data)
	}
	return nil
}

// event writes the event with an id, without some attributes.
func (r *run) event(id string, without ...string) []byte {
	e := map[string]any{"id": id}
	for name, value := range r.base {
		if name != "id" && !slices.Contains(without, name) {
			e[name] = value
		}
	}
	text, _ := json.Marshal(e) // it was read as JSON
	return text
}

// valid makes the request of a valid event in the mode of the endpoint.
func (r *run) valid(id string) request {
	body := r.event(id)
	ev, err := event.ParseJSON(body, event.Limits{EventBytes: 1 << 20})
	if r.Mode == webhook.ModeBinary && err == nil && ev.CanBinary() && len(ev.Data) > 0 {
		return request{header: ev.BinaryHeader(), body: ev.Data, token: r.token}
	}
	return structured(body, r.token)
}

func structured(body []byte, token string) request {
	return request{header: http.Header{"Content-Type": {mediaEvent}}, body: body, token: token}
}

// send makes one request. A receiver that asks for a short pause gets it, and the request once more.
func (r *run) send(ctx context.Context, q request) exchange {
	if q.key == "" {
		q.key = uuid.NewString()
	}
	x := r.once(ctx, q)
	if !x.isBusy() {
		return x
	}
	r.busy = append(r.busy, x)
	pause, ok := webhook.ParseRetryAfter(x.retryAfter, r.now())
	if ok && pause <= longestPause && wait(ctx, pause) {
		if x = r.once(ctx, q); x.isBusy() {
			r.busy = append(r.busy, x)
		}
	}
	r.stopped = r.stopped || x.isBusy()
	return x
}

// longestPause bounds the pause that a receiver gets during a check.
const longestPause = 3 * time.Second

func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (r *run) once(ctx context.Context, q request) exchange {
	if r.sent > 0 && r.Pause > 0 && !wait(ctx, min(r.Pause, time.Second)) {
		return exchange{kind: outbound.KindCanceled}
	}
	if r.sent++; r.sent > mostRequests {
		return exchange{kind: outbound.KindHeldBack}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, nil)
	if err != nil {
		return exchange{kind: outbound.KindProtocol}
	}
	req.ContentLength = int64(len(q.body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(q.body)), nil }
	req.Body, _ = req.GetBody()
	req.Close = true
	req.Header = q.header.Clone()
	req.Header["Idempotency-Key"] = []string{`"` + q.key + `"`}
	signed := r.Sign
	if q.sign != nil {
		signed = *q.sign
	}
	signed.Add(req.Header, req.URL, q.key, q.body, r.now().Add(-q.age))
	x := exchange{sent: shownRequest(req, q)}
	if q.token != "" {
		req.Header["Authorization"] = []string{"Bearer " + q.token}
	}
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	resp, err := r.client.DoFor(outbound.WithCertificate(ctx, r.Certificate), "check "+r.URL, req)
	if resp == nil {
		x.kind, x.received = outbound.Kind(err), fmt.Sprint(err)
		r.unasked = r.unasked || x.kind == outbound.KindUnasked
		return x
	}
	r.unasked = r.unasked || resp.Unasked
	x.status, x.took, x.retryAfter = resp.Status, resp.Duration, resp.Header.Get("Retry-After")
	x.received = r.hide(shownResponse(resp))
	if x.status >= 300 && x.status < 400 && r.moved == nil {
		r.moved = &x
	}
	return x
}

// hide takes the token and the secret out of an answer that repeats them.
func (r *run) hide(text string) string {
	secrets := []string{r.token}
	if r.Token != nil {
		secrets = append(secrets, string(r.Token.Secret))
	}
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	return text
}

// Bounds of what a report shows of a request and an answer, in bytes.
const (
	mostShown     = 1200
	mostShownBody = 600
)

// shownRequest shows what is sent, without the token.
func shownRequest(req *http.Request, q request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "POST %s\n", shownURL(req.URL.String()))
	writeHeader(&b, req.Header)
	if q.token != "" {
		b.WriteString("Authorization: Bearer [redacted]\n")
	}
	writeBody(&b, q.body)
	return b.String()
}

func shownResponse(resp *outbound.Response) string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP %d %s\n", resp.Status, http.StatusText(resp.Status))
	writeHeader(&b, resp.Header)
	writeBody(&b, resp.Body)
	return b.String()
}

func writeHeader(b *strings.Builder, header http.Header) {
	names := make([]string, 0, len(header))
	for name := range header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range header[name] {
			if name == "Set-Cookie" {
				value = "[redacted]"
			}
			if b.Len() < mostShown {
				fmt.Fprintf(b, "%s: %s\n", name, printable([]byte(value), 300))
			}
		}
	}
}

func writeBody(b *strings.Builder, body []byte) {
	if len(body) > 0 {
		b.WriteString("\n" + printable(body, mostShownBody) + "\n")
	}
}

// printable cuts a text that others wrote, and makes it fit to be shown.
func printable(text []byte, most int) string {
	cut := len(text) > most
	if cut {
		text = text[:most]
	}
	shown := strings.Map(func(c rune) rune {
		if c == utf8.RuneError || c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			return '.'
		}
		return c
	}, strings.ToValidUTF8(string(text), "."))
	if cut {
		shown += "…"
	}
	return shown
}

// noAnswer says that no usable answer came, and why.
func noAnswer(kind string) i18n.Message {
	return i18n.M("check.text.no-answer", i18n.Word("check.kind", kind))
}
