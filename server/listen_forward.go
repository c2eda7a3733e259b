package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"schakel/server/cli"
	"schakel/templates/i18n"
)

// hand gives one event to the program, or prints it; false when it has to come again.
func (l *listener) hand(ctx context.Context, e leased) bool {
	var shown struct{ ID, Source, Type string }
	_ = json.Unmarshal(e.Event, &shown) // the Schakel checked it
	if l.Forward == "" {
		_, err := fmt.Fprintf(l.out, "%s\n", e.Event)
		return err == nil
	}
	status, err := l.forward(ctx, e, shown.Source, shown.ID)
	what := fmt.Sprintf("%s %s: ", shown.Type, shown.ID)
	switch {
	case ctx.Err() != nil:
		return false // stopped by Ctrl-C
	case err == nil && status >= 200 && status <= 299:
		l.fails = 0
		fmt.Fprintf(l.out, "%sanswered %d\n", what, status)
		return true
	case err == nil:
		what += fmt.Sprintf("answered %d", status)
	case cli.TimedOut(err):
		what += "no answer within " + length(programTimeout)
	default:
		what += cli.Unreached(err)
	}
	l.fails++
	fmt.Fprintln(l.log, what+l.outlook(e))
	return false
}

// outlook is the rest of the line about an event that the program refused: when it is offered again, or where to resend it.
func (l *listener) outlook(e leased) string {
	if e.last() {
		return fmt.Sprintf(" at the last of %d receives; it became a dead letter: resend it at %s/search?q=%s", e.Lease.MaxDeliveryCount, l.base, e.Lease.DeliveryID)
	}
	count := ""
	if e.Lease.MaxDeliveryCount > 0 {
		count = fmt.Sprintf(" (receive %d of %d)", e.Lease.DeliveryCount, e.Lease.MaxDeliveryCount)
	}
	return count + "; it is offered again in " + length(l.pause())
}

// pause returns how long to wait after the refusals so far: twice as long with each, up to a minute.
func (l *listener) pause() time.Duration {
	most := max(l.Retry, longestPause)
	pause := l.Retry
	for n := 1; n < l.fails && pause < most; n++ {
		pause *= 2
	}
	return min(pause, most)
}

// length writes a time for people.
func length(d time.Duration) string {
	return i18n.Duration(context.Background(), d)
}

func (l *listener) forward(ctx context.Context, e leased, source, id string) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.Forward, bytes.NewReader(e.Event))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/cloudevents+json; charset=utf-8")
	req.Header.Set("Idempotency-Key", strconv.Quote(keyOf(source, id)))
	answer, err := l.program.Do(req)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20)) // so that the connection is used again
	return answer.StatusCode, nil
}

// keyOf is the key of an event: the same each time it is offered, as that of a webhook is (IDEM-02).
func keyOf(source, id string) string {
	sum := sha256.Sum256([]byte(source + "\x00" + id))
	key := uuid.UUID(sum[:16])
	key[6], key[8] = key[6]&0x0f|0x40, key[8]&0x3f|0x80 // version 4, RFC 9562
	return key.String()
}
