package endpointcheck

import (
	"bytes"
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"schakel/delivery/webhook"
	"schakel/templates/i18n"
)

// checkEvents sends events, good ones and wrong ones, and judges the answers.
func (r *run) checkEvents(ctx context.Context) {
	defer r.client.Forget("check " + r.URL)
	if r.asksToken() && r.token == "" {
		r.skip("check.text.without-token", "event", "duplicate", "replay", "wrong-token", "not-json", "no-source", "media-type", "batch", "size", "unsigned", "wrong-signature", "old-signature")
		r.checkStrangers(ctx)
		r.checkWhole()
		return
	}
	id, key := uuid.NewString(), uuid.NewString()
	first := r.valid(id)
	r.first = id
	first.key = key
	x := r.send(ctx, first)
	if r.judgeEvent(x) {
		r.noteTime(x)
		r.checkAccepted(ctx, first)
		r.checkRefused(ctx)
		r.checkSignatures(ctx)
	} else {
		r.skip("check.text.event-refused", "duplicate", "replay", "not-json", "no-source", "media-type", "batch", "size", "unsigned", "wrong-signature", "old-signature")
	}
	r.checkStrangers(ctx)
	r.checkWhole()
}

// judgeEvent judges the answer to a valid event and reports whether it was accepted.
func (r *run) judgeEvent(x exchange) bool {
	f := x.finding("event")
	switch {
	case x.accepted():
		f.Result = Pass
	case x.status >= 300 && x.status < 400:
		f.Result = Untested // the finding about redirects tells of it
	case x.isBusy():
		f.Result, f.Text = Untested, i18n.M("check.text.busy", x.status)
	case x.status == http.StatusUnauthorized || x.status == http.StatusForbidden:
		f.Result, f.Remedy = Fault, "check.remedy.event-token"
	case x.status >= 400 && x.status < 500:
		f.Result, f.Remedy = Fault, "check.remedy.event-refused"
	case x.status == 0:
		f.Result, f.Remedy = Fault, "check.remedy.event-none"
	default:
		f.Result, f.Remedy = Fault, "check.remedy.event-failed"
	}
	r.add(f)
	return x.accepted()
}

// finding is a finding about an exchange, without its result.
func (x exchange) finding(code string) Finding {
	f := Finding{Code: code, Text: answered(x.status), Sent: x.sent, Received: x.received}
	if x.status == 0 {
		f.Text = noAnswer(x.kind)
	}
	return f
}

// noteTime keeps the longest answer to an event that was accepted.
func (r *run) noteTime(x exchange) {
	if x.accepted() {
		r.report.Slowest = max(r.report.Slowest, x.took)
	}
}

// wanted judges an exchange that must be accepted.
func (r *run) wanted(code string, x exchange, otherwise Result, remedy i18n.Message) {
	r.noteTime(x)
	f := x.finding(code)
	switch {
	case x.accepted():
		f.Result = Pass
	case x.isBusy():
		f.Result, f.Text = Untested, i18n.M("check.text.busy", x.status)
	default:
		f.Result, f.Remedy = otherwise, remedy
	}
	r.add(f)
}

// unwanted judges an exchange that must be refused, best with a status. A receiver that accepts it has a fault; one that fails on it, or says
// something else, gets advice.
func (r *run) unwanted(code string, x exchange, best int, accepts, fails i18n.Message) {
	f := x.finding(code)
	switch {
	case x.status == best, best == http.StatusBadRequest && x.status >= 400 && x.status < 500 && !slices.Contains(notRefusals, x.status):
		f.Result = Pass
	case x.isBusy():
		f.Result, f.Text = Untested, i18n.M("check.text.busy", x.status)
	case x.accepted():
		f.Result, f.Remedy = Fault, accepts
	default:
		f.Result, f.Remedy = Advice, fails
	}
	r.add(f)
}

// notRefusals are the statuses of 4xx after which an event is sent again, or everything stops.
var notRefusals = []int{
	http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusConflict, http.StatusGone, http.StatusTooEarly, http.StatusTooManyRequests,
}

// checkAccepted sends what a receiver takes: a repeat, a batch, a large event.
func (r *run) checkAccepted(ctx context.Context, first request) {
	r.wanted("duplicate", r.ask(ctx, first), Fault, "check.remedy.duplicate")
	r.checkReplay(ctx, first)
	batch := request{
		header: http.Header{"Content-Type": {mediaBatch}}, token: r.token,
		body: slices.Concat([]byte("["), r.event(uuid.NewString()), []byte(","), r.event(uuid.NewString()), []byte("]")),
	}
	x := r.ask(ctx, batch)
	switch {
	case r.Batches:
		r.wanted("batch", x, Fault, "check.remedy.batch")
	case x.status == http.StatusUnsupportedMediaType:
		f := x.finding("batch")
		f.Result = Pass
		r.add(f)
	default:
		r.wanted("batch", x, Advice, "check.remedy.batch-refused")
	}
	// White space makes any event as large as it may be, whatever its contract says.
	large := r.event(uuid.NewString())
	if pad := largest - len(large); pad > 0 {
		large = slices.Concat(large[:len(large)-1], bytes.Repeat([]byte(" "), pad), []byte("}"))
	}
	r.wanted("size", r.ask(ctx, structured(large, r.token)), Fault, "check.remedy.size")
}

// checkReplay sends the first event under another key, as a replay does. What a receiver stored of it shows to its owner alone, who is told the id.
func (r *run) checkReplay(ctx context.Context, first request) {
	first.key = ""
	r.wanted("replay", r.ask(ctx, first), Fault, "check.remedy.duplicate")
	if f := &r.report.Findings[len(r.report.Findings)-1]; f.Result == Pass {
		f.Text = i18n.M("check.text.replay", r.first)
	}
}

// largest is the size of an event that every receiver takes, in bytes (EDU-03).
const largest = 64 << 10

// checkRefused sends what a receiver must refuse.
func (r *run) checkRefused(ctx context.Context) {
	r.unwanted("not-json", r.ask(ctx, structured([]byte("this is no event"), r.token)), http.StatusBadRequest, "check.remedy.not-json", "check.remedy.not-json-fails")
	r.unwanted("no-source", r.ask(ctx, structured(r.event(uuid.NewString(), "source"), r.token)), http.StatusBadRequest, "check.remedy.no-source", "check.remedy.no-source-fails")
	text := request{header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, body: []byte("this is no event"), token: r.token}
	r.unwanted("media-type", r.ask(ctx, text), http.StatusUnsupportedMediaType, "check.remedy.media-type", "check.remedy.media-type-other")
}

// ask sends a request, unless the receiver asked for a pause that is too long.
func (r *run) ask(ctx context.Context, q request) exchange {
	if r.stopped {
		last := r.busy[len(r.busy)-1]
		return exchange{status: last.status, received: last.received}
	}
	return r.send(ctx, q)
}

// checkStrangers sends events without a token, and with a wrong one.
func (r *run) checkStrangers(ctx context.Context) {
	if !r.asksToken() {
		r.skip("check.text.no-token-endpoint", "no-token", "wrong-token")
		return
	}
	none := r.valid(uuid.NewString())
	none.token = ""
	r.unwanted("no-token", r.ask(ctx, none), http.StatusUnauthorized, "check.remedy.no-token", "check.remedy.no-token-other")
	if r.token == "" {
		return
	}
	wrong := r.valid(uuid.NewString())
	wrong.token = tampered(r.token)
	r.unwanted("wrong-token", r.ask(ctx, wrong), http.StatusUnauthorized, "check.remedy.wrong-token", "check.remedy.no-token-other")
}

// tampered returns a token that is not valid: the signature of a JWT is changed, so that only who verifies it sees that.
func tampered(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || len(parts[2]) < 8 {
		return rand.Text()
	}
	signature := []byte(parts[2])
	for i := range min(8, len(signature)) {
		signature[i] = other(signature[i])
	}
	return parts[0] + "." + parts[1] + "." + string(signature)
}

func other(c byte) byte {
	if c == 'A' {
		return 'B'
	}
	return 'A'
}

// checkSignatures sends events that are not signed, or not by us, to an endpoint that has signatures.
func (r *run) checkSignatures(ctx context.Context) {
	if r.Sign.Empty() {
		return
	}
	none, stranger := webhook.Signatures{}, r.Sign.Stranger()
	for _, wrong := range []struct {
		code string
		sign *webhook.Signatures
		age  time.Duration
	}{{"unsigned", &none, 0}, {"wrong-signature", &stranger, 0}, {"old-signature", &r.Sign, time.Hour}} {
		q := r.valid(uuid.NewString())
		q.sign, q.age = wrong.sign, wrong.age
		x := r.ask(ctx, q)
		f := x.finding(wrong.code)
		switch {
		case x.isBusy():
			f.Result, f.Text = Untested, i18n.M("check.text.busy", x.status)
		case x.status >= 400 && x.status < 500:
			f.Result = Pass
		case x.accepted():
			f.Result, f.Remedy = Fault, "check.remedy.signature"
		default:
			f.Result, f.Remedy = Advice, "check.remedy.signature-other"
		}
		r.add(f)
	}
}

// slowAnswer is the time of an answer from which on a receiver gets advice.
const slowAnswer = 5 * time.Second

// checkWhole judges what shows over all exchanges.
func (r *run) checkWhole() {
	if r.moved != nil {
		f := r.moved.finding("redirects")
		f.Result, f.Remedy = Fault, "check.remedy.redirects"
		r.add(f)
	} else {
		r.pass("redirects", "check.text.no-redirects")
	}
	switch {
	case len(r.busy) == 0:
		r.skip("check.text.never-busy", "retry-after")
	default:
		f := r.busy[0].finding("retry-after")
		f.Result = Pass
		for _, x := range r.busy {
			if _, ok := webhook.ParseRetryAfter(x.retryAfter, r.now()); !ok {
				f = x.finding("retry-after")
				f.Result, f.Remedy = Fault, "check.remedy.retry-after"
			}
		}
		r.add(f)
	}
	if r.unasked {
		r.add(Finding{Code: "one-answer", Result: Fault, Text: "check.text.two-answers", Remedy: "check.remedy.two-answers"})
	} else {
		r.pass("one-answer", "check.text.one-answer")
	}
	f := Finding{Code: "answer-time", Result: Pass, Text: i18n.M("check.text.slowest", r.report.Slowest.Milliseconds())}
	switch {
	case r.report.Slowest == 0:
		f.Result, f.Text = Untested, "check.text.event-refused"
	case r.report.Slowest > min(slowAnswer, r.Timeout/2):
		f.Result, f.Remedy = Advice, "check.remedy.slow"
	}
	r.add(f)
}
