package brokertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"
)

// giveUp is how long a test waits for what must come; nothing depends on it but the end
// of a failing test.
const giveUp = 60 * time.Second

// Party is a party of the exchange with its queues, as the exchange makes them
// (AMQP-46).
type Party struct {
	HerID                          int
	Async, Sync, Error, DeadLetter string
}

// NewParty makes the queues of a HER-id that no other test of the binary has.
func (b *Broker) NewParty(t testing.TB) Party {
	t.Helper()
	return b.Party(t, 100_000+int(lastParty.Add(1)))
}

// Party makes the queues of a HER-id: async, a quorum queue that gives up after ten
// deliveries (AMQP-45), sync with a time to live of 15 s (AMQP-43), error and the dead
// letters, which async and error messages go to.
func (b *Broker) Party(t testing.TB, herID int) Party {
	t.Helper()
	id := strconv.Itoa(herID)
	p := Party{HerID: herID, Async: id + "_async", Sync: id + "_sync", Error: id + "_error", DeadLetter: id + "_dl"}
	toDeadLetter := map[string]any{
		"x-queue-type": "quorum", "x-delivery-limit": 9,
		"x-dead-letter-exchange": "", "x-dead-letter-routing-key": p.DeadLetter,
	}
	b.Queue(t, p.DeadLetter, map[string]any{"x-queue-type": "quorum"})
	b.Queue(t, p.Async, toDeadLetter)
	b.Queue(t, p.Error, toDeadLetter)
	b.Queue(t, p.Sync, map[string]any{"x-queue-type": "classic", "x-message-ttl": 15000})
	return p
}

// Queue makes a durable queue.
func (b *Broker) Queue(t testing.TB, name string, arguments map[string]any) {
	t.Helper()
	if arguments == nil {
		arguments = map[string]any{}
	}
	b.call(t, http.MethodPut, b.queuePath(name), map[string]any{"durable": true, "arguments": arguments})
}

// DeleteQueue takes a queue away.
func (b *Broker) DeleteQueue(t testing.TB, name string) {
	t.Helper()
	b.call(t, http.MethodDelete, b.queuePath(name), nil)
}

// Exchange makes a direct exchange and binds queues to it under their names.
func (b *Broker) Exchange(t testing.TB, name string, queues ...string) {
	t.Helper()
	b.call(t, http.MethodPut, "/exchanges/%2F/"+url.PathEscape(name), map[string]any{"type": "direct", "durable": true})
	for _, queue := range queues {
		b.call(t, http.MethodPost, "/bindings/%2F/e/"+url.PathEscape(name)+"/q/"+url.PathEscape(queue), map[string]any{"routing_key": queue})
	}
}

// User makes a user with a password ("" for one that logs in by certificate) and
// regular expressions of what it may write and read.
func (b *Broker) User(t testing.TB, name, password, write, read string) {
	t.Helper()
	user := map[string]any{"tags": "", "password": password}
	if password == "" {
		user = map[string]any{"tags": "", "password_hash": ""}
	}
	b.call(t, http.MethodPut, "/users/"+url.PathEscape(name), user)
	b.call(t, http.MethodPut, "/permissions/%2F/"+url.PathEscape(name), map[string]any{"configure": "^$", "write": write, "read": read})
}

// Queues lists the names of all queues.
func (b *Broker) Queues(t testing.TB) []string {
	t.Helper()
	var all []struct{ Name string }
	decode(t, b.call(t, http.MethodGet, "/queues?columns=name", nil), &all)
	names := make([]string, len(all))
	for i, q := range all {
		names[i] = q.Name
	}
	return names
}

// Depth gives how many messages a queue holds, as the node counted them within the
// last half second.
func (b *Broker) Depth(t testing.TB, queue string) int {
	t.Helper()
	var q struct{ Messages int }
	decode(t, b.call(t, http.MethodGet, b.queuePath(queue), nil), &q)
	return q.Messages
}

// AwaitDepth waits until a queue holds so many messages.
func (b *Broker) AwaitDepth(t testing.TB, queue string, want int) {
	t.Helper()
	until := time.Now().Add(giveUp)
	for got := -1; got != want; {
		if got = b.Depth(t, queue); got != want && time.Now().After(until) {
			t.Fatalf("queue %s holds %d messages, want %d", queue, got, want)
		}
		if got != want {
			<-time.After(100 * time.Millisecond)
		}
	}
}

func (b *Broker) queuePath(name string) string { return "/queues/%2F/" + url.PathEscape(name) }

func (b *Broker) call(t testing.TB, method, path string, body any) []byte {
	t.Helper()
	answer, err := b.try(method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func (b *Broker) try(method, path string, body any) ([]byte, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(method, b.API+path, bytes.NewReader(encoded))
	if err != nil {
		return nil, err
	}
	req.SetBasicAuth(User, Password)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 && (method != http.MethodDelete || resp.StatusCode != http.StatusNotFound) {
		err = fmt.Errorf("%s %s: %s %s", method, path, resp.Status, answer)
	}
	return answer, err
}

func decode(t testing.TB, from []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(from, into); err != nil {
		t.Fatal(err)
	}
}

// CloseOf ends the client connections of one user from the node's side, and waits until
// there is at least one.
func (b *Broker) CloseOf(t testing.TB, user string) {
	t.Helper()
	for closed, until := 0, time.Now().Add(giveUp); closed == 0; {
		var all []struct{ Name, User string }
		decode(t, b.call(t, http.MethodGet, "/connections?columns=name,user", nil), &all)
		for _, c := range all {
			if c.User == user {
				closed++
				b.call(t, http.MethodDelete, "/connections/"+url.PathEscape(c.Name), nil)
			}
		}
		if closed == 0 && time.Now().After(until) {
			t.Fatalf("%s has no connections", user)
		}
	}
}
