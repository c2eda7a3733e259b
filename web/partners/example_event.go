package partners

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"schakel/delivery/outbox"
	"schakel/registry/contracts/outline"
	"schakel/store"
	"schakel/web/site"
)

// versionsAt lists the versions of a type in which its events come to an endpoint, published ones first, newest first: those that the subscription to
// it selected, and all where nothing there subscribes to it. Of several subscriptions the newest that takes events counts, as it does for encryption.
func (p *pages) versionsAt(ctx context.Context, e store.Endpoint, eventType string) ([]store.EventType, error) {
	versions, err := p.DB.EventTypeVersions(ctx, eventType)
	if err != nil {
		return nil, fmt.Errorf("find versions of event type: %w", err)
	}
	subs, _, err := p.DB.Subscriptions(ctx, store.SubscriptionFilter{PartnerID: e.PartnerID, EndpointID: e.ID, EventType: eventType, Open: true})
	if err != nil {
		return nil, fmt.Errorf("find subscription to event type: %w", err)
	}
	if len(subs) == 0 {
		return versions, nil
	}
	chosen := max(0, slices.IndexFunc(subs, func(s store.Subscription) bool { return s.Accepting }))
	line := subs[chosen].Versions[eventType]
	return slices.DeleteFunc(versions, func(t store.EventType) bool { return !store.FitsLine(t.ContractVersion, line) }), nil
}

// exampleEvent makes an event of a type from the example in its contract, or else from the schema of its data. It has an id of its own
// each time, so that a receiver does not take it for one that it had. A source of the example that may refuses gives way to source.
func exampleEvent(t store.EventType, source string, may func(source string) bool, now time.Time) string {
	e := map[string]json.RawMessage{}
	data := json.RawMessage(t.Example)
	switch {
	case len(data) > 0 && site.IsWholeEvent(data):
		_ = json.Unmarshal(data, &e) // it is an object: that was just seen
	case len(data) == 0 && t.DataSchema != "":
		data = outline.MakeSample(t.DataSchema)
		fallthrough
	default:
		if len(data) > 0 {
			e["data"] = data
		}
		e["datacontenttype"], e["source"] = quoted(cmp.Or(t.ContentType, "application/json")), quoted(source)
	}
	var own string
	if may != nil && (json.Unmarshal(e["source"], &own) != nil || !may(own)) {
		e["source"] = quoted(source)
	}
	e["specversion"], e["type"], e["id"] = quoted("1.0"), quoted(t.Name), quoted(uuid.NewString())
	e["time"], e[outbox.TestExtension] = quoted(now.UTC().Format("2006-01-02T15:04:05.000Z")), json.RawMessage("true")
	return inOrder(e)
}

// inOrder writes an event with the attributes first that every event has, and its data last.
func inOrder(e map[string]json.RawMessage) string {
	names := []string{"specversion", "id", "source", "type", "time", "subject", "datacontenttype", "dataschema"}
	var rest []string
	for name := range e {
		if !slices.Contains(names, name) && name != "data" {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	text := []byte{'{'}
	for _, name := range append(append(names, rest...), "data") {
		if value, ok := e[name]; ok {
			if len(text) > 1 {
				text = append(text, ',')
			}
			text = append(append(append(text, quoted(name)...), ':'), value...)
		}
	}
	return site.IndentedJSON(append(text, '}'))
}

func quoted(text string) json.RawMessage {
	written, _ := json.Marshal(text) // a string cannot fail to encode
	return written
}
