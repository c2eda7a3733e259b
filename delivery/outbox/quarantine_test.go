package outbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"schakel/store"
	"schakel/store/storetest"
)

// client is the id of a client of the own organisation, the same each time.
func (c *chain) client() string {
	c.Helper()
	rows, err := c.db.Clients(c.Context(), c.own.ID)
	must(c, err)
	if len(rows) > 0 {
		return rows[0].ID
	}
	row := store.Client{PartnerID: c.own.ID, Name: "sis", Status: store.ClientActive, AuthMethod: "client_secret_basic"}
	c.write(func(tx *store.Tx) error { return tx.InsertClient(c.Context(), &row) })
	return row.ID
}

// mismatch sends one event, and then others under its key.
func (c *chain) mismatch(id string, others ...string) (Submission, Receipt) {
	c.Helper()
	first := c.submission(c.own.ID, true, "nl.a", id)
	first.ClientID = c.client()
	c.take(first)
	s := c.submission(c.own.ID, true, "nl.a", others...)
	s.ClientID, s.Key, s.Quarantine = first.ClientID, first.Key, true
	r := c.take(s)
	return s, r
}

func (c *chain) delivered() int {
	c.Helper()
	_, n, err := c.db.Deliveries(c.Context(), store.DeliveryFilter{})
	must(c, err)
	return n
}

// Other content under a used key is rejected, or quarantined: never delivered before somebody releases it, and then once.
// Rules: IDEM-11, IDEM-I02, OPEN-17.
func TestQuarantine(t *testing.T) {
	t.Parallel()
	boss := Actor{Kind: "account", ID: "acc_1", Name: "Ada"}
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		notifier := &recordingNotifier{}
		c := newChain(t, db, func(cfg *Config) { cfg.Notifier = notifier })
		c.partner("North", "nl.a")
		s, receipt := c.mismatch("1", "2", "3")
		if receipt.Quarantined == "" || len(receipt.Events) != 0 || c.delivered() != 1 {
			t.Fatalf("receipt %+v, %d deliveries", receipt, c.delivered())
		}
		if again, err := c.eng.Accept(t.Context(), s); err != nil || again.Quarantined != receipt.Quarantined {
			t.Errorf("the same again: %+v, %v", again, err)
		}
		s.Quarantine = false
		if _, err := c.eng.Accept(t.Context(), s); !errors.Is(err, ErrKeyReused) {
			t.Errorf("without a quarantine: %v", err)
		}
		r, err := c.eng.Release(t.Context(), boss, receipt.Quarantined)
		if err != nil || len(r.Events) != 2 || c.delivered() != 3 {
			t.Fatalf("release: %+v, %v, %d deliveries", r, err, c.delivered())
		}
		if _, err := c.eng.Release(t.Context(), boss, receipt.Quarantined); !errors.Is(err, ErrDecided) || c.delivered() != 3 {
			t.Errorf("released twice: %v, %d deliveries", err, c.delivered())
		}
		if err := c.eng.DiscardQuarantined(t.Context(), boss, receipt.Quarantined, "late"); !errors.Is(err, ErrDecided) {
			t.Errorf("discarded after a release: %v", err)
		}
		if notifier.quarantined.Load() != 1 {
			t.Errorf("people were told %d times", notifier.quarantined.Load())
		}
	})
}

// A request whose events are all known cannot be released; a discard needs a reason; both are decided once.
func TestQuarantineDecisions(t *testing.T) {
	t.Parallel()
	boss := Actor{Kind: "account", ID: "acc_1", Name: "Ada"}
	c := newChain(t, storetest.SQLite(t))
	s := c.submission(c.own.ID, true, "nl.a", "1")
	s.ClientID = c.client()
	c.take(s)
	s.Fingerprint, s.Quarantine = []byte("other"), true
	receipt := c.take(s)
	if _, err := c.eng.Release(t.Context(), boss, receipt.Quarantined); !errors.Is(err, ErrAllKnown) {
		t.Errorf("release of what is known: %v", err)
	}
	if err := c.eng.DiscardQuarantined(t.Context(), boss, receipt.Quarantined, " "); !errors.Is(err, ErrReasonMissing) {
		t.Errorf("discard without a reason: %v", err)
	}
	if err := c.eng.DiscardQuarantined(t.Context(), boss, receipt.Quarantined, "a mistake"); err != nil {
		t.Error(err)
	}
	if _, err := c.eng.Release(t.Context(), boss, receipt.Quarantined); !errors.Is(err, ErrDecided) {
		t.Errorf("release after a discard: %v", err)
	}
	if _, err := c.eng.Release(t.Context(), boss, "qua_none"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("release of nothing: %v", err)
	}
	rows, _, err := c.db.Audits(t.Context(), store.AuditFilter{ObjectKind: "quarantine"})
	if err != nil || len(rows) != 2 || rows[0].Action != "quarantine.discarded" || rows[1].Action != "quarantine.added" {
		t.Errorf("%+v, %v", rows, err)
	}
}

// A release that broke off after its events were accepted can be done again, and brings nothing twice.
func TestReleaseAfterCrash(t *testing.T) {
	t.Parallel()
	boss := Actor{Kind: "account", ID: "acc_1", Name: "Ada"}
	c := newChain(t, storetest.SQLite(t))
	c.partner("North", "nl.a")
	_, receipt := c.mismatch("1", "2")
	s, err := c.eng.storedSubmission(t.Context(), receipt.Quarantined)
	must(t, err)
	c.take(s)
	if r, err := c.eng.Release(t.Context(), boss, receipt.Quarantined); err != nil || !r.Replayed || c.delivered() != 2 {
		t.Errorf("%+v, %v, %d deliveries", r, err, c.delivered())
	}
}

// Of decisions at the same moment one holds: what was discarded is never delivered, and what was released is never answered
// as discarded.
// Rules: IDEM-11, IDEM-I02.
func TestQuarantineDecidedAtOnce(t *testing.T) {
	t.Parallel()
	boss := Actor{Kind: "account", ID: "acc_1", Name: "Ada"}
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := newChain(t, db)
		c.partner("North", "nl.a")
		_, receipt := c.mismatch("1", "2")
		// A release that read the request before it was discarded.
		s, err := c.eng.storedSubmission(t.Context(), receipt.Quarantined)
		must(t, err)
		must(t, c.eng.DiscardQuarantined(t.Context(), boss, receipt.Quarantined, "no"))
		if r, err := c.eng.Accept(t.Context(), s); !errors.Is(err, ErrKeyReused) || c.delivered() != 1 {
			t.Errorf("released what was discarded: %+v, %v, %d deliveries", r, err, c.delivered())
		}
		// A discard that comes after the events were accepted, and before the release is written down.
		_, receipt = c.mismatch("3", "4")
		if s, err = c.eng.storedSubmission(t.Context(), receipt.Quarantined); err != nil {
			t.Fatal(err)
		}
		c.take(s)
		if err := c.eng.DiscardQuarantined(t.Context(), boss, receipt.Quarantined, "no"); !errors.Is(err, ErrDecided) {
			t.Errorf("discarded what was accepted: %v", err)
		}
		if _, err := c.eng.Release(t.Context(), boss, receipt.Quarantined); err != nil {
			t.Errorf("the release goes on: %v", err)
		}
		// Many releases at once: one answers what was accepted, the others that it is decided.
		_, receipt = c.mismatch("5", "6")
		answers := make(chan error, 8)
		for range cap(answers) {
			go func() {
				_, err := c.eng.Release(context.WithoutCancel(t.Context()), boss, receipt.Quarantined)
				answers <- err
			}()
		}
		done := 0
		for range cap(answers) {
			if err := <-answers; err == nil {
				done++
			} else if !errors.Is(err, ErrDecided) {
				t.Errorf("released at the same moment: %v", err)
			}
		}
		if done != 1 || c.delivered() != 5 {
			t.Errorf("%d releases, %d deliveries", done, c.delivered())
		}
	})
}

// Objects of quarantined events stay with them, and go along when they are released.
func TestQuarantinedObject(t *testing.T) {
	t.Parallel()
	c := newChain(t, storetest.SQLite(t))
	first := c.submission(c.own.ID, true, "nl.a", "1")
	first.ClientID = c.client()
	c.take(first)
	sum := sha256.Sum256([]byte("large"))
	o := store.Object{ID: c.db.NewID("obj"), PartnerID: c.own.ID, ClientID: first.ClientID, Size: 5, Digest: sum[:]}
	must(t, c.db.PutObject(t.Context(), o, []byte("large")))
	s := c.submission(c.own.ID, true, "nl.a", "2")
	s.ClientID, s.Key, s.Quarantine, s.Objects = first.ClientID, first.Key, true, []string{o.ID}
	receipt := c.take(s)
	owner := func() string {
		o, err := c.db.Object(t.Context(), o.ID)
		must(t, err)
		return o.OwnerID
	}
	if owner() != receipt.Quarantined {
		t.Errorf("the object belongs to %q", owner())
	}
	r, err := c.eng.Release(t.Context(), Actor{Name: "Ada"}, receipt.Quarantined)
	if err != nil || owner() != r.Events[0].EventID {
		t.Errorf("the object belongs to %q, %v", owner(), err)
	}
}

// A repeat that comes while the first is stored is rejected, or waits and gets the answer of the first.
// Rules: IDEM-I06, IDEM-15, OPEN-17.
func TestConcurrentRepeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var keys inFlightKeys
		must(t, keys.enter(t.Context(), "a", false))
		if err := keys.enter(t.Context(), "a", false); !errors.Is(err, ErrKeyInUse) {
			t.Errorf("refused: %v", err)
		}
		var entered atomic.Int32
		for range 3 {
			go func() {
				if keys.enter(t.Context(), "a", true) == nil {
					entered.Add(1)
					keys.leave("a")
				}
			}()
		}
		synctest.Wait()
		if entered.Load() != 0 {
			t.Error("did not wait")
		}
		keys.leave("a")
		synctest.Wait()
		if entered.Load() != 3 {
			t.Errorf("%d of 3 went on", entered.Load())
		}
	})
}

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
	must(t, err)
	c.take(s)
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
		must(t, err)
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
