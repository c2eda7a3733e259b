package services

import (
	"strings"
	"testing"

	"schakel/registry"
	"schakel/store"
)

// A contract names its basis and its contact. Its owner is recorded with the
// agreement, and so is a transfer.
//
// Rules: EDU-06c, EDU-22, EDU-25, OPEN-09.
func TestContractOwnerIsAgreedAndRecorded(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, _, _, _ := w.twoPartners(t)
		in := contractInput("student-events")
		in.Owner, in.Maintainer, in.ContactName, in.ContactEmail = "Chain Office", "Team A", "Ada", "ada@example.nl"
		in.BasedOn, in.Agreement = "Edustandaard OSO 2.4", "Chain board, 1 May 2026"
		_, err := w.Contracts.Create(ctx, w.admin, in)
		must(t, err)
		c, err := w.Contracts.Get(ctx, registry.Reader{Administrator: true}, in.ID)
		if err != nil || c.Owner != "Chain Office" || c.ContactEmail != "ada@example.nl" || c.BasedOn != "Edustandaard OSO 2.4" || c.Agreement == "" {
			t.Errorf("got %+v, %v", c, err)
		}
		in.Owner, in.OwnerPartnerID, in.Agreement = "Noord", p.ID, "Chain board, 1 June 2026"
		_, err = w.Contracts.Update(ctx, w.admin, in.ID, in)
		must(t, err)
		entries, total, err := w.db.Audits(ctx, store.AuditFilter{Action: registry.ActionContractTransferred})
		if err != nil || total != 1 {
			t.Fatalf("%d entries, %v", total, err)
		}
		for _, words := range []string{"Chain Office", "Noord", "1 June 2026"} {
			if !strings.Contains(entries[0].Detail, words) {
				t.Errorf("the entry does not tell %q: %s", words, entries[0].Detail)
			}
		}
		if entries[0].ActorName == "" || entries[0].At.IsZero() {
			t.Errorf("entry %+v", entries[0])
		}
	})
}
