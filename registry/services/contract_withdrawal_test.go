package services

import (
	"slices"
	"testing"

	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
)

// Before a version is withdrawn one sees who is hit, and who of them goes on with
// another version; a partner sees no other partners.
//
// Rules: EDU-06c, EDU-08.
func TestWithdrawalTellsWhoIsHit(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, actor, _, stranger := w.twoPartners(t)
		w.catalogue(t)
		fixed := w.subscribe(t, actor, w.endpoint(t, actor).ID, enrolled)
		w.publishVersion(t, "2.0.0", enrolled)
		any, err := w.Subscriptions.Request(ctx, stranger, partners.SubscriptionRequest{
			EndpointID: w.endpoint(t, stranger).ID, Types: []string{enrolled}, Versions: map[string]string{enrolled: registry.AnyVersion}, Purpose: "keep our records right",
		})
		must(t, err)
		effect, err := w.Contracts.WithdrawalEffect(ctx, w.admin, "student-events", "1.0.0")
		must(t, err)
		loses := map[string]int{}
		for _, s := range effect.Subscriptions {
			loses[s.ID] = len(s.Loses)
			if s.Partner.Name == "" || !slices.Equal(s.Affects, []string{enrolled}) {
				t.Errorf("%+v", s)
			}
		}
		if len(loses) != 2 || loses[fixed.ID] != 1 || loses[any.ID] != 0 || slices.Contains(effect.Last, enrolled) || !slices.Contains(effect.Last, leftEvent) {
			t.Errorf("effect %+v", effect)
		}
		newer, err := w.Contracts.WithdrawalEffect(ctx, w.admin, "student-events", "2.0.0")
		if err != nil || len(newer.Subscriptions) != 1 || newer.Subscriptions[0].ID != any.ID {
			t.Errorf("of 2.0.0: %+v, %v", newer, err)
		}
		_, err = w.Contracts.WithdrawalEffect(ctx, actor, "student-events", "1.0.0")
		wantCode(t, "who does not maintain it", registry.CodeForbidden, err)
		must(t, w.db.Write(ctx, func(tx *store.Tx) error {
			row, err := tx.Contract(ctx, "student-events")
			if err == nil {
				row.OwnerPartnerID = p.ID
				err = tx.UpdateContract(ctx, &row)
			}
			return err
		}))
		effect, err = w.Contracts.WithdrawalEffect(ctx, actor, "student-events", "1.0.0")
		if err != nil || len(effect.Subscriptions) != 1 || effect.Subscriptions[0].ID != fixed.ID || effect.Hidden != 1 {
			t.Errorf("for its owner: %+v, %v", effect, err)
		}
		_, err = w.Contracts.Withdraw(ctx, w.admin, "student-events", "1.0.0", "It leaked.")
		must(t, err)
		_, err = w.Contracts.WithdrawalEffect(ctx, w.admin, "student-events", "1.0.0")
		wantCode(t, "withdrawn already", registry.CodeConflict, err)
	})
}
