package webhook

import (
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"schakel/delivery/outbound"
)

// now is a fixed moment for all tests.
func now() time.Time { return time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC) }

func facts() Facts {
	return Facts{
		Attempt: 1, AcceptedAt: now(), KeyExpiresAt: now().Add(7 * 24 * time.Hour), Now: now(),
		Schedule: DefaultSchedule(), Rand: func() float64 { return 0.5 },
	}
}

// want is the row of the answer table for a status, written out on its own.
type want struct {
	next   Next
	ep     EndpointAction
	sub    SubscriptionAction
	reason string
}

func wanted(status int) want {
	rows := map[int]want{
		401: {NextRetry, EndpointAlert, SubscriptionNone, ReasonUnauthorized},
		403: {NextHold, EndpointSuspend, SubscriptionNone, ReasonForbidden},
		408: {NextRetry, EndpointNone, SubscriptionNone, ReasonBusy},
		409: {NextRetry, EndpointNone, SubscriptionNone, ReasonBusy},
		410: {NextDead, EndpointNone, SubscriptionEnd, ReasonGone},
		425: {NextRetry, EndpointNone, SubscriptionNone, ReasonBusy},
		429: {NextRetry, EndpointNone, SubscriptionNone, ReasonBusy},
	}
	if row, ok := rows[status]; ok {
		return row
	}
	switch status / 100 {
	case 2:
		return want{NextDelivered, EndpointNone, SubscriptionNone, ReasonDelivered}
	case 3:
		return want{NextPark, EndpointAlert, SubscriptionNone, ReasonRedirected}
	case 4:
		return want{NextPark, EndpointNone, SubscriptionNone, ReasonRejected}
	case 5:
		return want{NextRetry, EndpointNone, SubscriptionNone, ReasonServerError}
	}
	return want{NextPark, EndpointAlert, SubscriptionNone, ReasonUnexpected}
}

// Rules: CE-61, CE-63, CE-64, CE-74, IDEM-X06, IDEM-I08, E3.
func TestVerdictOfEveryStatus(t *testing.T) {
	t.Parallel()
	for status := 100; status < 1000; status++ {
		d := Verdict(Outcome{Status: status}, facts())
		got := want{d.Next, d.EndpointAction, d.SubscriptionAction, d.Reason}
		if got != wanted(status) {
			t.Errorf("%d: %+v, want %+v", status, got, wanted(status))
		}
		if d.Detail == "" || (d.Next != NextDelivered && !strings.Contains(d.Detail.String(), strconv.Itoa(status))) {
			t.Errorf("%d: detail %q", status, d.Detail)
		}
		if (d.Next == NextRetry) != d.RetryAt.After(now()) {
			t.Errorf("%d: %s at %v", status, d.Next, d.RetryAt)
		}
	}
}

// Rules: CE-74, E3.
func TestVerdictOfFailures(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind   string
		token  *TokenError
		next   Next
		ep     EndpointAction
		reason string
	}{
		{outbound.KindDNS, nil, NextRetry, EndpointNone, ReasonUnreachable},
		{outbound.KindConnect, nil, NextRetry, EndpointNone, ReasonUnreachable},
		{outbound.KindTimeout, nil, NextRetry, EndpointNone, ReasonUnreachable},
		{outbound.KindCanceled, nil, NextRetry, EndpointNone, ReasonCanceled},
		{outbound.KindTLS, nil, NextRetry, EndpointAlert, ReasonTLS},
		{outbound.KindBlockedAddress, nil, NextRetry, EndpointAlert, ReasonBlocked},
		{outbound.KindProtocol, nil, NextRetry, EndpointAlert, ReasonBadAnswer},
		{outbound.KindResponseTooLarge, nil, NextRetry, EndpointAlert, ReasonBadAnswer},
		{"token", &TokenError{Code: "invalid_client", Status: 401}, NextRetry, EndpointAlert, ReasonToken},
		{"token", &TokenError{Code: "blocked-address"}, NextRetry, EndpointAlert, ReasonToken},
		{"token", &TokenError{Code: "http-503", Status: 503, Transient: true}, NextRetry, EndpointNone, ReasonToken},
		{"token", nil, NextRetry, EndpointAlert, ReasonToken},
		{"request", nil, NextPark, EndpointAlert, ReasonRequest},
	} {
		d := Verdict(Outcome{Kind: ErrorKind(tt.kind), Detail: "what happened", Token: tt.token}, facts())
		if d.Next != tt.next || d.EndpointAction != tt.ep || d.Reason != tt.reason || d.SubscriptionAction != SubscriptionNone {
			t.Errorf("%s: %+v", tt.kind, d)
		}
		if !strings.Contains(d.Detail.String(), "what happened") {
			t.Errorf("%s: detail %q", tt.kind, d.Detail)
		}
	}
}

// Rules: CE-74.
func TestVerdictUnauthorized(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		fresh, tried bool
		reason       string
		ep           EndpointAction
		wait         time.Duration
	}{
		{"another token at hand", true, false, ReasonTokenRenewed, EndpointNone, 0},
		{"that was tried too", true, true, ReasonUnauthorized, EndpointAlert, 5 * time.Second},
		{"no other token", false, false, ReasonUnauthorized, EndpointAlert, 5 * time.Second},
	} {
		f := facts()
		f.FreshTokenTried = tt.tried
		d := Verdict(Outcome{Status: http.StatusUnauthorized, FreshToken: tt.fresh}, f)
		if d.Next != NextRetry || d.Reason != tt.reason || d.EndpointAction != tt.ep || !d.RetryAt.Equal(now().Add(tt.wait)) {
			t.Errorf("%s: %+v", tt.name, d)
		}
	}
}

// Rules: EDU-10, CE-65.
func TestVerdictWaits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		attempt    int
		random     float64
		retryAfter time.Duration
		want       time.Duration
	}{
		{"first", 1, 0.5, 0, 5 * time.Second},
		{"attempt not counted", 0, 0.5, 0, 5 * time.Second},
		{"second", 2, 0.5, 0, 30 * time.Second},
		{"eighth", 8, 0.5, 0, 6 * time.Hour},
		{"the last repeats", 20, 0.5, 0, 6 * time.Hour},
		{"least jitter", 2, 0, 0, 24 * time.Second},
		{"most jitter", 2, 1, 0, 36 * time.Second},
		{"Retry-After lengthens", 1, 0.5, time.Minute, time.Minute},
		{"Retry-After does not shorten", 4, 0.5, time.Second, 10 * time.Minute},
		{"absurd Retry-After", 1, 0.5, 365 * 24 * time.Hour, 24 * time.Hour},
	} {
		f := facts()
		f.Attempt, f.Rand = tt.attempt, func() float64 { return tt.random }
		d := Verdict(Outcome{Status: 503, RetryAfter: tt.retryAfter}, f)
		if got := d.RetryAt.Sub(now()); got != tt.want || d.Next != NextRetry {
			t.Errorf("%s: %s after %v, want %v", tt.name, d.Next, got, tt.want)
		}
		if absurd := tt.retryAfter > 24*time.Hour; (d.EndpointAction == EndpointAlert) != absurd {
			t.Errorf("%s: endpoint action %s", tt.name, d.EndpointAction)
		}
	}
}

// Rules: EDU-10.
func TestVerdictHoldsEndpoint(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		o    Outcome
		held bool
	}{
		{"429", Outcome{Status: 429, RetryAfter: time.Minute}, true},
		{"429 without Retry-After", Outcome{Status: 429}, false},
		{"503", Outcome{Status: 503, RetryAfter: time.Minute}, true},
		{"token endpoint", Outcome{Kind: KindToken, RetryAfter: time.Minute}, true},
		{"409 speaks of one request", Outcome{Status: 409, RetryAfter: time.Minute}, false},
		{"delivered", Outcome{Status: 202, RetryAfter: time.Minute}, false},
	} {
		d := Verdict(tt.o, facts())
		if held := d.EndpointHoldUntil.Equal(now().Add(time.Minute)); held != tt.held {
			t.Errorf("%s: held until %v", tt.name, d.EndpointHoldUntil)
		}
	}
}

// Rules: IDEM-12, E1.
func TestVerdictEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*Facts, *Outcome)
		next   Next
		reason string
	}{
		{"attempts used up", func(f *Facts, _ *Outcome) { f.Attempt = 50 }, NextDead, ReasonAttempts},
		{"one attempt left", func(f *Facts, _ *Outcome) { f.Attempt = 49 }, NextRetry, ReasonServerError},
		{"no limit of attempts", func(f *Facts, _ *Outcome) { f.Attempt, f.Schedule.MaxAttempts = 500, 0 }, NextRetry, ReasonServerError},
		{"deadline", func(f *Facts, _ *Outcome) {
			f.KeyExpiresAt, f.AcceptedAt = time.Time{}, now().Add(-7*24*time.Hour)
		}, NextDead, ReasonDeadline},
		{"just before the deadline", func(f *Facts, _ *Outcome) {
			f.KeyExpiresAt, f.AcceptedAt = time.Time{}, now().Add(6*time.Second-7*24*time.Hour)
		}, NextRetry, ReasonServerError},
		{"no deadline", func(f *Facts, _ *Outcome) {
			f.KeyExpiresAt, f.AcceptedAt, f.Schedule.Deadline = time.Time{}, now().AddDate(-1, 0, 0), 0
		}, NextRetry, ReasonServerError},
		{"key dies before the next try", func(f *Facts, _ *Outcome) { f.KeyExpiresAt = now().Add(5 * time.Second) }, NextDead, ReasonKeyExpired},
		{"key lives", func(f *Facts, _ *Outcome) { f.KeyExpiresAt = now().Add(5*time.Second + 1) }, NextRetry, ReasonServerError},
		{"Retry-After beyond the key", func(f *Facts, o *Outcome) {
			f.KeyExpiresAt, o.RetryAfter = now().Add(time.Hour), 2*time.Hour
		}, NextDead, ReasonKeyExpired},
		{"stopped by us costs no attempt", func(f *Facts, o *Outcome) {
			f.Attempt, o.Status, o.Kind = 50, 0, outbound.KindCanceled
		}, NextRetry, ReasonCanceled},
		{"alert outlives the end", func(f *Facts, o *Outcome) { f.Attempt, o.Status = 50, 401 }, NextDead, ReasonAttempts},
		{"empty schedule", func(f *Facts, _ *Outcome) { f.Schedule = Schedule{} }, NextRetry, ReasonServerError},
		{"delivered at the last moment", func(f *Facts, o *Outcome) { f.Attempt, o.Status = 50, 202 }, NextDelivered, ReasonDelivered},
	} {
		f, o := facts(), Outcome{Status: 500}
		tt.change(&f, &o)
		d := Verdict(o, f)
		if d.Next != tt.next || d.Reason != tt.reason {
			t.Errorf("%s: %+v", tt.name, d)
		}
		if d.Next == NextDead && (!d.RetryAt.IsZero() || !strings.Contains(d.Detail.String(), "last attempt")) {
			t.Errorf("%s: %+v", tt.name, d)
		}
		if o.Status == 401 && d.EndpointAction != EndpointAlert {
			t.Errorf("%s: endpoint action %s", tt.name, d.EndpointAction)
		}
	}
}

// TestDefaultScheduleFillsTheKeysLife walks a delivery that always fails.
func TestDefaultScheduleFillsTheKeysLife(t *testing.T) {
	t.Parallel()
	f := facts()
	for f.Attempt < 100 {
		d := Verdict(Outcome{Kind: outbound.KindConnect}, f)
		if d.Next == NextDead {
			break
		}
		f.Now, f.Attempt = d.RetryAt, f.Attempt+1
	}
	if lived := f.Now.Sub(f.AcceptedAt); lived < 6*24*time.Hour || lived >= 7*24*time.Hour || f.Attempt < 30 || f.Attempt > 40 {
		t.Errorf("%d attempts in %v", f.Attempt, lived)
	}
}

// Rules: EDU-18.
func TestOverride(t *testing.T) {
	t.Parallel()
	chain := Schedule{Waits: []time.Duration{time.Second}, MaxAttempts: 5, Deadline: time.Hour, Jitter: 0.2, MaxRetryAfter: time.Minute}
	for _, tt := range []struct {
		text string
		want func(s *Schedule)
	}{
		{"", func(*Schedule) {}},
		{"{}", func(*Schedule) {}},
		{`{"waits":["5s","1m30s"]}`, func(s *Schedule) { s.Waits = []time.Duration{5 * time.Second, 90 * time.Second} }},
		{`{"maxAttempts":10}`, func(s *Schedule) { s.MaxAttempts = 10 }},
		{`{"deadline":"24h"}`, func(s *Schedule) { s.Deadline = 24 * time.Hour }},
	} {
		o, err := ParseOverride(tt.text)
		want := chain
		tt.want(&want)
		if got := chain.With(o); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", tt.text, got, err, want)
		}
	}
	for _, text := range []string{"[]", `{"waits":["soon"]}`, `{"waits":["-1s"]}`, `{"waits":["0s"]}`, `{"deadline":"later"}`} {
		if _, err := ParseOverride(text); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}

func FuzzParseOverride(f *testing.F) {
	f.Add(`{"waits":["5s","1m"],"maxAttempts":10,"deadline":"24h"}`)
	f.Fuzz(func(t *testing.T, text string) {
		o, err := ParseOverride(text)
		if err != nil {
			return
		}
		for _, wait := range o.Waits {
			if wait <= 0 {
				t.Fatalf("pause %v", wait)
			}
		}
	})
}

// Rules: EDU-10, CE-65.
func TestParseRetryAfter(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		value string
		want  time.Duration
		ok    bool
	}{
		{"0", 0, true},
		{"120", 2 * time.Minute, true},
		{" 120\t", 2 * time.Minute, true},
		{"31536000", 365 * 24 * time.Hour, true},
		{"99999999999999999999999999", maxParsedWait, true},
		{now().Add(time.Hour).Format(http.TimeFormat), time.Hour, true},
		{now().Add(-time.Hour).Format(http.TimeFormat), 0, true},
		{"Monday, 02-Mar-26 10:00:30 GMT", 30 * time.Second, true},
		{"Mon Mar  2 10:00:30 2026", 30 * time.Second, true},
		{"Fri, 31 Dec 9999 23:59:59 GMT", maxParsedWait, true},
		{"", 0, false},
		{"-1", 0, false},
		{"1.5", 0, false},
		{"1e3", 0, false},
		{"soon", 0, false},
		{"120, 240", 0, false},
	} {
		if got, ok := ParseRetryAfter(tt.value, now()); got != tt.want || ok != tt.ok {
			t.Errorf("%q: %v, %v; want %v, %v", tt.value, got, ok, tt.want, tt.ok)
		}
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	for _, seed := range []string{"", "5", "99999999999999999999", "Mon, 02 Mar 2026 10:00:30 GMT", "-1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got, ok := ParseRetryAfter(value, now())
		if got < 0 || got > maxParsedWait || !ok && got != 0 {
			t.Fatalf("%q: %v, %v", value, got, ok)
		}
	})
}
