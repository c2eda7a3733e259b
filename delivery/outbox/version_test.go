package outbox

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"schakel/store"
	"schakel/store/storetest"
)

// Every subscriber gets exactly the versions that it subscribed to, also of a producer that sends two side by side.
//
// Rules: EDU-08, CE-16.
func TestVersionsSideBySide(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := newChain(t, db)
		// What each subscriber wants, by type; an empty version is any.
		wants := map[string]map[string]string{
			"first":       {"nl.a": "1"},
			"second":      {"nl.a": "2"},
			"any":         {"nl.a": ""},
			"both types":  {"nl.a": "2", "nl.b": "0.3"},
			"other type":  {"nl.b": "0.4"},
			"type per v2": {"nl.a.v2": "2"},
		}
		names := map[string]string{}
		for name, versions := range wants {
			names[c.partnerAt(name, versions).ID] = name
		}
		sent := []struct{ eventType, versions, subscribers string }{
			{"nl.a", "1.4.0", "any, first"},
			{"nl.a", "2.0.1", "any, both types, second"},
			{"nl.a", "2.0.1 1.4.0", "any, both types, first, second"},
			{"nl.a", "", "any, both types, first, second"},
			{"nl.a", "3.0.0", "any"},
			{"nl.b", "0.3.9", "both types"},
			{"nl.b", "0.4.0", "other type"},
			{"nl.a.v2", "2.1.0", "type per v2"},
		}
		for i, tt := range sent {
			s := c.submission(c.own.ID, true, tt.eventType, fmt.Sprint(i))
			s.Versions = []string{tt.versions}
			r, err := c.eng.Accept(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.subscribers(r.Events[0].EventID, names); got != tt.subscribers {
				t.Errorf("%s %q went to %s, want %s", tt.eventType, tt.versions, got, tt.subscribers)
			}
			row, err := db.Event(t.Context(), r.Events[0].EventID)
			if err != nil || row.ContractVersions != tt.versions {
				t.Errorf("kept versions %q, want %q (%v)", row.ContractVersions, tt.versions, err)
			}
		}
		c.replaysAlike(names)
	})
}

// replaysAlike holds that a replay would offer each subscription what acceptance sent it.
func (c *chain) replaysAlike(names map[string]string) {
	c.Helper()
	events, _, err := c.db.Events(c.Context(), store.EventFilter{Page: store.Page{Number: 1, Size: 100}})
	if err != nil {
		c.Fatal(err)
	}
	for id, name := range names {
		s, err := c.eng.newScanner(c.Context(), &c.db.Queries, Replay{}, store.ReplayPart{SubscriptionID: id})
		if err != nil {
			c.Fatal(err)
		}
		for _, row := range events {
			_, gets, err := s.matches(row)
			if got := c.subscribers(row.ID, names); err != nil || gets != slices.Contains(strings.Split(got, ", "), name) {
				c.Errorf("a replay offers %s %q to %s: %t (%v); it went to %s", row.CEType, row.ContractVersions, name, gets, err, got)
			}
		}
	}
}

// partnerAt adds an approved partner that subscribes to types at versions.
func (c *chain) partnerAt(name string, versions map[string]string) store.Subscription {
	c.Helper()
	s := c.partner(name)
	c.write(func(tx *store.Tx) error {
		var types []string
		for eventType := range versions {
			types = append(types, eventType)
		}
		return tx.SetSubscriptionTypes(c.Context(), s.ID, types, versions)
	})
	return s
}

// subscribers names who got an event, sorted.
func (c *chain) subscribers(eventID string, names map[string]string) string {
	c.Helper()
	rows, err := c.db.DeliveriesOf(c.Context(), eventID)
	if err != nil {
		c.Fatal(err)
	}
	var got []string
	for _, d := range rows {
		got = append(got, names[d.SubscriptionID])
	}
	slices.Sort(got)
	return strings.Join(got, ", ")
}
