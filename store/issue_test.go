package store_test

import (
	"slices"
	"testing"
	"time"

	"schakel/store"
)

// failing records n failed attempts of a cause at the endpoint of the world.
func (w *world) failing(cause string, n int) {
	w.t.Helper()
	outcomes := make([]store.Outcome, n)
	for i := range outcomes {
		outcomes[i].Delivery = store.Delivery{ID: "dlv_1", PartnerID: w.partner.ID, EndpointID: w.endpoint.ID, Cause: cause, Detail: "It failed."}
	}
	w.write(func(tx *store.Tx) error { return tx.RecordIssues(w.ctx, outcomes) })
}

func (w *world) issue(cause string) store.Issue {
	w.t.Helper()
	rows, total, err := w.db.Issues(w.ctx, store.IssueFilter{PartnerID: w.partner.ID, EndpointID: w.endpoint.ID, Cause: cause})
	noErr(w.t, err)
	if total != 1 {
		w.t.Fatalf("%d issues of %s, want 1", total, cause)
	}
	return rows[0]
}

// An issue goes only along the arrows of its states.
func TestIssueStates(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		steps := map[string]func(tx *store.Tx, id string) error{
			"acknowledge": func(tx *store.Tx, id string) error { return tx.AcknowledgeIssue(w.ctx, id, "Ada") },
			"resolve":     func(tx *store.Tx, id string) error { return tx.ResolveIssue(w.ctx, id, "Ada") },
			"reopen":      func(tx *store.Tx, id string) error { return tx.ReopenIssue(w.ctx, id, "Ada") },
			"itself": func(tx *store.Tx, _ string) error {
				_, err := tx.ResolveIssues(w.ctx, w.endpoint.ID, store.At(tx.Now.Add(time.Second)))
				return err
			},
		}
		paths := map[string][]string{
			store.IssueOpen: {}, store.IssueAcknowledged: {"acknowledge"}, store.IssueResolved: {"resolve"}, store.IssueReopened: {"resolve", "fail"},
		}
		for _, tt := range []struct{ from, step, to string }{
			{store.IssueOpen, "acknowledge", store.IssueAcknowledged},
			{store.IssueOpen, "resolve", store.IssueResolved},
			{store.IssueOpen, "itself", store.IssueResolved},
			{store.IssueOpen, "fail", store.IssueOpen},
			{store.IssueAcknowledged, "acknowledge", ""},
			{store.IssueAcknowledged, "resolve", store.IssueResolved},
			{store.IssueAcknowledged, "itself", store.IssueResolved},
			{store.IssueAcknowledged, "fail", store.IssueAcknowledged},
			{store.IssueResolved, "acknowledge", ""},
			{store.IssueResolved, "resolve", ""},
			{store.IssueResolved, "itself", store.IssueResolved},
			{store.IssueResolved, "fail", store.IssueReopened},
			{store.IssueResolved, "reopen", store.IssueReopened},
			{store.IssueOpen, "reopen", ""},
			{store.IssueAcknowledged, "reopen", ""},
			{store.IssueReopened, "reopen", ""},
			{store.IssueReopened, "acknowledge", store.IssueAcknowledged},
			{store.IssueReopened, "resolve", store.IssueResolved},
			{store.IssueReopened, "itself", store.IssueResolved},
			{store.IssueReopened, "fail", store.IssueReopened},
		} {
			cause := tt.from + "-" + tt.step
			w.failing(cause, 1)
			id := w.issue(cause).ID
			for _, step := range append(paths[tt.from], tt.step) {
				if step == "fail" {
					w.failing(cause, 1)
				} else if tt.to == "" && step == tt.step && w.issue(cause).Status == tt.from {
					w.fails(store.ErrConflict, func(tx *store.Tx) error { return steps[step](tx, id) })
				} else {
					w.write(func(tx *store.Tx) error { return steps[step](tx, id) })
				}
			}
			want := tt.to
			if want == "" {
				want = tt.from
			}
			i, err := w.db.Issue(w.ctx, id)
			if err != nil || i.Status != want {
				t.Errorf("%s: %s is %s, want %s, %v", tt.step, tt.from, i.Status, want, err)
			}
			if i.Status == store.IssueReopened && (i.Reopened != 1 || i.AcknowledgedBy != "") {
				t.Errorf("%s: %+v", tt.step, i)
			}
		}
	})
}

// 10,000 failures of one cause make one issue that counts them all.
func TestIssueCount(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		began := w.now()
		for range 20 {
			w.failing("http-503", 500)
			w.clock.Advance(time.Second)
		}
		w.failing("", 1) // no cause, no issue
		i := w.issue("http-503")
		if i.Failures != 10_000 || !i.FirstAt.Equal(began.Time) || i.LastAt.Sub(i.FirstAt.Time) != 19*time.Second || i.Detail != "It failed." {
			t.Errorf("%+v", i)
		}
		if open, err := w.db.HasOpenIssues(w.ctx, w.endpoint.ID); !open || err != nil {
			t.Errorf("%v, %v", open, err)
		}
		gives(t, map[string]int{w.endpoint.ID: 1})(w.db.UnresolvedIssues(w.ctx, []string{w.endpoint.ID, "ept_none"}))
	})
}

// An issue stays while a delivery waits for its cause, and resolves by itself when none does. The filter finds these deliveries alone.
func TestIssueResolvesByItself(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 3)
		w.claim("a", 3)
		fail := func(id, status, cause string) store.Outcome {
			o := w.outcome(id, "a", store.Delivery{Status: status, Reason: "attempts-exhausted", Cause: cause})
			o.Delivery.PartnerID, o.Delivery.EndpointID = w.partner.ID, w.endpoint.ID
			return o
		}
		w.write(func(tx *store.Tx) error {
			all := []store.Outcome{
				fail(ids[0], store.DeliveryDead, "http-503"), fail(ids[1], store.DeliveryDead, "dns"), fail(ids[2], store.DeliveryHeld, "http-503"),
			}
			if err := tx.Complete(w.ctx, all); err != nil {
				return err
			}
			return tx.RecordIssues(w.ctx, all)
		})
		dead := store.DeliveryFilter{EndpointID: w.endpoint.ID, PartnerID: w.partner.ID, Cause: "http-503", Statuses: []string{store.DeliveryDead}}
		rows, total, err := w.db.Deliveries(w.ctx, dead)
		if err != nil || total != 1 || rows[0].ID != ids[0] {
			t.Errorf("%d, %v, %v", total, rows, err)
		}
		if found, err := w.db.DeliveryIDs(w.ctx, dead, 10); err != nil || len(found) != 1 || found[0] != ids[0] {
			t.Errorf("%v, %v", found, err)
		}
		resolve := func(want int64) {
			t.Helper()
			w.clock.Advance(time.Minute)
			w.write(func(tx *store.Tx) error {
				n, err := tx.ResolveIssues(w.ctx, w.endpoint.ID, tx.Now)
				if n != want {
					t.Errorf("%d are resolved, want %d", n, want)
				}
				return err
			})
		}
		resolve(0)
		w.set(ids[0], `status = 'delivered'`)
		w.set(ids[1], `status = 'discarded'`)
		resolve(1)
		if i := w.issue("dns"); i.Status != store.IssueResolved || i.ResolvedBy != "" {
			t.Errorf("%+v", i)
		}
		if i := w.issue("http-503"); i.Status != store.IssueOpen {
			t.Errorf("%+v", i)
		}
		w.set(ids[2], `status = 'delivered'`)
		resolve(1)
	})
}

// Each change of an issue stands in its history once, with who did it, newest first; a failure that changes nothing does not.
func TestIssueHistory(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.failing("http-503", 1)
		w.failing("http-503", 2)
		id := w.issue("http-503").ID
		for _, step := range []func(tx *store.Tx) error{
			func(tx *store.Tx) error { return tx.AcknowledgeIssue(w.ctx, id, "Ada") },
			func(tx *store.Tx) error { return tx.NoteIssueMail(w.ctx, w.issue("http-503"), "Ada") },
			func(tx *store.Tx) error {
				_, err := tx.ResolveIssues(w.ctx, w.endpoint.ID, store.At(tx.Now.Add(time.Second)))
				return err
			},
		} {
			w.clock.Advance(time.Second)
			w.write(step)
		}
		w.clock.Advance(time.Second)
		w.failing("http-503", 1)
		rows, err := w.db.IssueEventsOf(w.ctx, id, 10)
		noErr(t, err)
		var got []string
		for _, row := range rows {
			got = append(got, row.Action+" "+row.Actor)
		}
		want := []string{"reopened ", "resolved ", "mailed Ada", "acknowledged Ada", "opened "}
		if !slices.Equal(got, want) || rows[0].PartnerID != w.partner.ID || rows[0].At.IsZero() {
			t.Errorf("%q, want %q", got, want)
		}
		if i := w.issue("http-503"); i.EventID != rows[0].ID || i.RaisedAt.IsZero() {
			t.Errorf("%+v", i)
		}
		w.clock.Advance(48 * time.Hour)
		w.write(func(tx *store.Tx) error {
			done, err := tx.PruneIssueEvents(w.ctx, store.At(tx.Now.Add(-time.Hour)), "", 100)
			if done.Rows != 5 {
				t.Errorf("%+v is pruned", done)
			}
			return err
		})
	})
}

// An issue names the event types of the deliveries that wait for its cause.
func TestIssueEventTypes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 2)
		w.set(ids[0], `status = 'dead', cause = 'dns'`)
		w.set(ids[1], `status = 'dead', cause = 'dns', event_type = 'nl.other'`)
		w.failing("dns", 1)
		types, err := w.db.IssueEventTypes(w.ctx, w.issue("dns"))
		if err != nil || len(types) != 2 || !slices.Contains(types, "nl.other") {
			t.Errorf("%q, %v", types, err)
		}
	})
}

// An issue is raised until people were told of it, and again when it is reopened.
func TestRaisedIssues(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		raised := func(want int) {
			t.Helper()
			has, err := w.db.HasRaisedIssues(w.ctx, w.now(), w.in(-time.Hour))
			if err != nil || has != (want > 0) {
				t.Errorf("%v, %v", has, err)
			}
			w.write(func(tx *store.Tx) error {
				rows, err := tx.RaisedIssues(w.ctx, tx.Now, store.At(tx.Now.Add(-time.Hour)), 10)
				if len(rows) != want {
					t.Errorf("%d are raised, want %d", len(rows), want)
				}
				return err
			})
		}
		w.failing("dns", 1)
		raised(1)
		w.write(func(tx *store.Tx) error { return tx.IssuesTold(w.ctx, w.endpoint.ID) })
		raised(0)
		w.write(func(tx *store.Tx) error { return tx.ResolveIssue(w.ctx, w.issue("dns").ID, "Ada") })
		w.failing("dns", 1)
		raised(0) // within the hour
		w.clock.Advance(2 * time.Hour)
		raised(1)
	})
}

// A digest that is due is found, with its account.
func TestDueDigests(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := store.Account{Email: "digest@example.nl", Name: "D", Role: store.RoleAdministrator, Status: store.AccountActive}
		w.write(func(tx *store.Tx) error { return tx.InsertAccount(w.ctx, &a) })
		if !a.TellsAtOnce() {
			t.Error("the default is not at once")
		}
		a.DigestDue = w.in(time.Minute)
		w.write(func(tx *store.Tx) error { return tx.UpdateAccount(w.ctx, &a) })
		for _, want := range []int{0, 1} {
			has, err := w.db.HasDigestDue(w.ctx, w.now())
			if err != nil || has != (want > 0) {
				t.Errorf("%v, %v", has, err)
			}
			w.write(func(tx *store.Tx) error {
				rows, err := tx.DueDigests(w.ctx, 10)
				if len(rows) != want {
					t.Errorf("%d are due, want %d", len(rows), want)
				}
				return err
			})
			w.clock.Advance(time.Hour)
		}
	})
}
