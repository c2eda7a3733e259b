package outbox

import (
	"context"
	"errors"
	"strings"
	"testing"

	"schakel/store"
	"schakel/store/storetest"
)

// A release that another overtakes while it is judged finds all its events known; its answer names the decision
// and the decider, not that its sender repeated itself.
// Rules: IDEM-11, IDEM-I02.
func TestReleaseOvertaken(t *testing.T) {
	t.Parallel()
	slow, quick := Actor{Kind: "account", ID: "acc_1", Name: "Ada"}, Actor{Kind: "account", ID: "acc_2", Name: "Bob"}
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		var between func()
		c := newChain(t, db, func(cfg *Config) {
			cfg.WhyNot = func(context.Context, store.Client, string, string) (string, error) {
				if overtake := between; overtake != nil {
					between = nil
					overtake()
				}
				return "", nil
			}
		})
		c.partner("North", "nl.a")
		_, receipt := c.mismatch("1", "2", "3")
		between = func() {
			if r, err := c.eng.Release(t.Context(), quick, receipt.Quarantined); err != nil || len(r.Events) != 2 {
				t.Errorf("the release that overtakes: %+v, %v", r, err)
			}
		}
		r, err := c.eng.Release(t.Context(), slow, receipt.Quarantined)
		if !errors.Is(err, ErrDecided) || !strings.Contains(err.Error(), "by Bob") || len(r.Events) != 0 || c.delivered() != 3 {
			t.Errorf("the release that was overtaken: %+v, %v, %d deliveries", r, err, c.delivered())
		}
		_, receipt = c.mismatch("4", "5")
		between = func() {
			if err := c.eng.DiscardQuarantined(t.Context(), quick, receipt.Quarantined, "no"); err != nil {
				t.Error(err)
			}
		}
		if _, err = c.eng.Release(t.Context(), slow, receipt.Quarantined); !errors.Is(err, ErrDecided) || !strings.Contains(err.Error(), "by Bob") {
			t.Errorf("the release that a discard overtook: %v", err)
		}
		if q, err := db.Quarantine(t.Context(), receipt.Quarantined); err != nil || q.Status != store.QuarantineDiscarded || c.delivered() != 4 {
			t.Errorf("%+v, %v, %d deliveries", q, err, c.delivered())
		}
	})
}

// What intake would reject now is not let in by a release: events of a client that was revoked or lost its grants, or of a
// partner that is not approved. What was accepted before the release broke off can still be written down.
// Rules: CE-10, IDEM-11.
func TestReleaseJudgesTheSender(t *testing.T) {
	t.Parallel()
	boss := Actor{Kind: "account", ID: "acc_1", Name: "Ada"}
	refusal := ""
	c := newChain(t, storetest.SQLite(t), func(cfg *Config) {
		cfg.WhyNot = func(context.Context, store.Client, string, string) (string, error) { return refusal, nil }
	})
	_, receipt := c.mismatch("1", "2")
	_, broken := c.mismatch("3", "4")
	s, err := c.eng.storedSubmission(t.Context(), broken.Quarantined)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.eng.Accept(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	release := func(want error, word string) {
		t.Helper()
		if _, err := c.eng.Release(t.Context(), boss, receipt.Quarantined); !errors.Is(err, want) || !strings.Contains(err.Error(), word) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	refusal = "It may not send nl.a."
	release(ErrNotGranted, "It may not send nl.a")
	refusal = ""
	setClient := func(status string) {
		t.Helper()
		row, err := c.db.Client(t.Context(), c.client())
		if err != nil {
			t.Fatal(err)
		}
		row.Status = status
		c.write(func(tx *store.Tx) error { return tx.UpdateClient(t.Context(), &row) })
	}
	setClient(store.ClientRevoked)
	release(ErrClientStopped, "revoked")
	setClient(store.ClientActive)
	c.own.Status = store.PartnerSuspended
	c.write(func(tx *store.Tx) error { return tx.UpdatePartner(t.Context(), &c.own) })
	release(ErrSenderStopped, "not approved")
	if _, n, err := c.db.Events(t.Context(), store.EventFilter{}); n != 3 || err != nil {
		t.Errorf("%v, %d events, want those of the first requests and of the release that broke off", err, n)
	}
	if r, err := c.eng.Release(t.Context(), boss, broken.Quarantined); err != nil || !r.Replayed {
		t.Errorf("the release that broke off: %+v, %v", r, err)
	}
}
