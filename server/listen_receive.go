package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"schakel/server/cli"
)

// leased is one event as the pull API hands it out.
type leased struct {
	Event json.RawMessage `json:"event"`
	Lease struct {
		LockToken        string `json:"lockToken"`
		DeliveryCount    int64  `json:"deliveryCount"`
		MaxDeliveryCount int64  `json:"maxDeliveryCount"` // 0 of a Schakel that does not say
		DeliveryID       string `json:"deliveryId"`
	} `json:"brokerProperties"`
}

// last reports whether the event is a dead letter when it is not acknowledged now.
func (e leased) last() bool {
	return e.Lease.MaxDeliveryCount > 0 && e.Lease.DeliveryCount >= e.Lease.MaxDeliveryCount
}

// round receives once, and counts what it received.
func (l *listener) round(ctx context.Context) (int, error) {
	wait := listenWait
	if l.Once || !l.listens {
		wait = 0 // whether it works is known at once
	}
	l.machine.Client.Timeout = time.Duration(wait)*time.Second + schakelTimeout
	body, err := l.post(ctx, "/receive", map[string]int{"maxEvents": l.most, "maxWaitTime": wait, "lockDuration": listenLease})
	if err != nil {
		return 0, err
	}
	if !l.listens {
		l.listens = true
		fmt.Fprintf(l.log, "listening for events of %s\n", l.Subscription)
	}
	var got struct{ Details []leased }
	if err := json.Unmarshal(body, &got); err != nil {
		return 0, fmt.Errorf("read what was received: %w", err)
	}
	done, back := l.handAll(ctx, got.Details)
	// What was handed over is settled even when Ctrl-C came meanwhile.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), schakelTimeout)
	defer cancel()
	if err := errors.Join(l.settle(ending, "/acknowledge", done), l.settle(ending, "/release", back)); err != nil {
		return len(got.Details), err
	}
	if len(back) > 0 {
		l.most = 1
		cli.Pause(ctx, l.pause())
	} else if len(done) > 0 {
		l.most = min(2*l.most, listenEvents)
	}
	return len(got.Details), nil
}

// handAll gives events to the program, in order: what follows a refused event waits for it, but for one that would be a dead letter without having
// been offered.
func (l *listener) handAll(ctx context.Context, events []leased) (done, back []string) {
	for _, e := range events {
		waits := ctx.Err() != nil || len(back) > 0 && !e.last()
		if !waits && l.hand(ctx, e) {
			done = append(done, e.Lease.LockToken)
		} else {
			back = append(back, e.Lease.LockToken)
		}
	}
	return done, back
}

// settle ends leases; without any there is nothing to say. What cannot be settled comes again.
func (l *listener) settle(ctx context.Context, verb string, tokens []string) error {
	if len(tokens) == 0 {
		return nil
	}
	events := cli.Plural(int64(len(tokens)), "event", "events")
	body, err := l.post(ctx, verb, map[string][]string{"lockTokens": tokens})
	if gaveUp, ok := errors.AsType[*cli.ExitError](err); ok && gaveUp.Code == cli.ExitGaveUp {
		fmt.Fprintf(l.log, "%s did not succeed for %s, which come again\n", strings.TrimPrefix(verb, "/"), events)
		return nil
	}
	if err != nil {
		return err
	}
	var answer struct {
		Failed []struct {
			LockToken string `json:"lockToken"`
		} `json:"failedLockTokens"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("read the answer of %s: %w", verb, err)
	}
	if n := len(answer.Failed); n > 0 {
		fmt.Fprintf(l.log, "%s came too late for %s, which come again\n", strings.TrimPrefix(verb, "/"), cli.Plural(int64(n), "event", "events"))
	}
	return nil
}

// post calls a verb of the subscription until that is answered.
func (l *listener) post(ctx context.Context, verb string, body any) ([]byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {"application/json"}, "Accept-Language": {"en"}, "Idempotency-Key": {strconv.Quote(uuid.NewString())}}
	answer, err := l.machine.Post(ctx, l.base+"/events/v1/subscriptions/"+l.Subscription+verb, header, text)
	refused, ok := errors.AsType[*cli.ExitError](err)
	switch {
	case err == nil:
		if l.told != "" {
			l.listens = false // and says so again
		}
		l.told, l.tries = "", 0
	case ok && refused.Code == cli.ExitRefused:
		if detail := (cli.Answer{Body: answer}).Problem().Detail; detail != "" {
			return nil, fmt.Errorf("%w: %s", refused.Err, detail)
		}
		return nil, refused.Err
	}
	return answer, err
}

// onceTries bounds how often a busy Schakel is asked with --once.
const onceTries = 4

// troubled says once what is wrong with the Schakel, and ends what waiting does not mend.
func (l *listener) troubled(a cli.Answer, err error) error {
	p := a.Problem()
	text := fmt.Sprintf("the Schakel answers with status %d", a.Status)
	if p.Detail != "" {
		text += ": " + p.Detail
	}
	if err != nil {
		text = cli.Unreached(err)
	}
	l.tries++
	switch {
	case p.Code == "not-a-pull-subscription":
		return errors.New(text + " Make an endpoint of kind pull in the portal, and a subscription for it.")
	case l.Once && (a.Status == 0 || a.Status == http.StatusConflict || l.tries >= onceTries):
		return errors.New(text)
	case text != l.told:
		fmt.Fprintf(l.log, "%s; trying on, until Ctrl-C\n", strings.TrimSuffix(text, "."))
		l.told = text
	}
	return nil
}
