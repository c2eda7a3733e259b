package web

import (
	"context"
	"testing"

	"schakel/registry"
	"schakel/store"
	"schakel/store/storetest"
)

// oneWins fails unless exactly one of the decisions counts that are taken at once, eight times each. On PostgreSQL each has a connection of its own, as those
// of two nodes have: what holds them apart is the database alone.
func oneWins(t *testing.T, decisions ...func(context.Context) error) (won int) {
	t.Helper()
	const times = 8
	won = -1
	type outcome struct {
		of  int
		err error
	}
	start, outcomes := make(chan struct{}), make(chan outcome)
	for i := range times * len(decisions) {
		go func() {
			<-start
			outcomes <- outcome{i % len(decisions), decisions[i%len(decisions)](t.Context())}
		}()
	}
	close(start)
	for range times * len(decisions) {
		switch o := <-outcomes; {
		case o.err != nil:
			refusedAs(t, registry.CodeConflict, o.err)
		case won >= 0:
			t.Error("two decisions count")
		default:
			won = o.of
		}
	}
	if won < 0 {
		t.Error("no decision counts")
	}
	return won
}

// Of people and nodes that decide at once one wins, and its decision is carried out.
func TestConfirmationsAtOnce(t *testing.T) {
	t.Parallel()
	for name, open := range storetest.Both() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTwoPeople(t, open, registry.TwoApprovals)
			p := w.registered("Zuid")
			id := waits(t, w.reg.Partners.Approve(t.Context(), w.ada, p.ID))
			won := oneWins(t,
				func(ctx context.Context) error { return w.reg.Confirmations.Confirm(ctx, w.bea, id) },
				func(ctx context.Context) error { return w.reg.Confirmations.Decline(ctx, w.bea, id, "not known to us") },
				func(ctx context.Context) error { return w.reg.Confirmations.Withdraw(ctx, w.ada, id) },
			)
			status, done := w.state(id).Status, w.partnerStatus(p.ID)
			want := []string{store.ConfirmationConfirmed, store.ConfirmationDeclined, store.ConfirmationWithdrawn}[max(won, 0)]
			if status != want || (done == store.PartnerApproved) != (won == 0) {
				t.Errorf("it is %s, want %s; the partner is %s", status, want, done)
			}
		})
	}
}

// A changed destination that waits is approved, declined or withdrawn once, though people and nodes decide at once.
func TestDestinationIsDecidedAtOnce(t *testing.T) {
	t.Parallel()
	for name, open := range storetest.Both() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMoving(t, open, registry.DestinationApproval)
			here := "/partner/endpoints/" + m.endpoint.ID
			wantRedirect(t, m.browser.post(here, m.form(newAddress)), here+"/move")
			id, admin := m.move(t).ID, registry.SystemActor()
			won := oneWins(t,
				func(ctx context.Context) error { return m.reg.Endpoints.ApproveMove(ctx, admin, m.endpoint.ID, id) },
				func(ctx context.Context) error {
					return m.reg.Endpoints.DeclineMove(ctx, admin, m.endpoint.ID, id, "we do not know that host")
				},
				func(ctx context.Context) error { return m.reg.Endpoints.WithdrawMove(ctx, admin, m.endpoint.ID, id) },
			)
			want := []string{store.MoveDone, store.MoveDeclined, store.MoveWithdrawn}[max(won, 0)]
			if s := m.move(t); s.Status != want || (m.now(t).URL == newAddress) != (won == 0) {
				t.Errorf("it is %s, want %s; it sends to %s", s.Status, want, m.now(t).URL)
			}
		})
	}
}
