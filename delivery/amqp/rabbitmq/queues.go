package rabbitmq

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// Party is a party of the exchange with its queues, as the exchange makes them (AMQP-46).
type Party struct {
	HerID                          int
	Async, Sync, Error, DeadLetter string
}

// Party makes the queues of a HER-id: async, a quorum queue that gives up after ten
// deliveries (AMQP-45), sync with a time to live of 15 s (AMQP-43), error and the dead
// letters, which async and error messages go to.
func (n *Node) Party(ctx context.Context, herID int) (Party, error) {
	id := strconv.Itoa(herID)
	p := Party{HerID: herID, Async: id + "_async", Sync: id + "_sync", Error: id + "_error", DeadLetter: id + "_dl"}
	toDeadLetter := map[string]any{
		"x-queue-type": "quorum", "x-delivery-limit": 9,
		"x-dead-letter-exchange": "", "x-dead-letter-routing-key": p.DeadLetter,
	}
	for _, q := range []struct {
		name      string
		arguments map[string]any
	}{
		{p.DeadLetter, map[string]any{"x-queue-type": "quorum"}},
		{p.Async, toDeadLetter},
		{p.Error, toDeadLetter},
		{p.Sync, map[string]any{"x-queue-type": "classic", "x-message-ttl": 15000}},
	} {
		if err := n.Queue(ctx, q.name, q.arguments); err != nil {
			return p, err
		}
	}
	return p, nil
}

// Queue makes a durable queue.
func (n *Node) Queue(ctx context.Context, name string, arguments map[string]any) error {
	if arguments == nil {
		arguments = map[string]any{}
	}
	_, err := n.Call(ctx, http.MethodPut, QueuePath(name), map[string]any{"durable": true, "arguments": arguments})
	return err
}

// QueuePath gives the path of a queue in the management API.
func QueuePath(name string) string { return "/queues/%2F/" + url.PathEscape(name) }

// Call asks the management API and gives its answer. Removing what is not there is no error.
func (n *Node) Call(ctx context.Context, method, path string, body any) ([]byte, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, n.API+path, bytes.NewReader(encoded))
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
