package services

import (
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
)

// Only an administrator corrects a registration: not to a number that another has, and the audit trail lists the changes.
func TestCorrect(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, actor, other, _ := w.twoPartners(t)
		good := partners.Registration{
			Name: "Scholengroep  Noordoost", OIN: "00000003273229730000", KVK: "27322973",
			Contact: partners.Contact{Name: "Carla", Email: "Carla@noord.example", Phone: "+31 30 123 45 67"},
		}
		wantCode(t, "by a partner", registry.CodeForbidden, w.Partners.Correct(ctx, actor, p.ID, good))
		taken := good
		taken.OIN, taken.KVK = other.OIN, ""
		if f := fieldsOf(w.Partners.Correct(ctx, w.admin, p.ID, taken)); len(f) != 1 || f["oin"] == "" {
			t.Errorf("the OIN of another: %v", f)
		}
		if f := fieldsOf(w.Partners.Correct(ctx, w.admin, p.ID, partners.Registration{})); f["name"] == "" || f["oin"] == "" || f["email"] == "" {
			t.Errorf("nothing: %v", f)
		}
		before, err := w.Partners.Get(ctx, w.admin.Scope(), p.ID)
		must(t, err)
		must(t, w.Partners.Correct(ctx, w.admin, p.ID, good))
		got, err := w.Partners.Get(ctx, w.admin.Scope(), p.ID)
		must(t, err)
		if got.Name != "Scholengroep Noordoost" || got.OIN != good.OIN || got.KVK != "27322973" || got.ContactEmail != "carla@noord.example" || got.Status != store.PartnerApproved || got.TermsVersion != before.TermsVersion || len(got.EndpointKinds) != len(before.EndpointKinds) {
			t.Errorf("got %+v", got)
		}
		if old := w.mailsTo(t, before.ContactEmail); !strings.Contains(old[0].Subject, "has changed") {
			t.Errorf("the old address is not told: %q", old[0].Subject)
		}
		told := w.lastSentence(t)
		for _, words := range []string{"corrected the registration of Scholengroep Noordoost", "name Scholengroep Noordoost (was " + before.Name + ")", "contact person", "OIN " + good.OIN} {
			if !strings.Contains(told, words) {
				t.Errorf("told as %q, without %q", told, words)
			}
		}
		must(t, w.Partners.Correct(ctx, w.admin, p.ID, good))
		if again := w.lastSentence(t); again != told {
			t.Errorf("a correction of nothing is told: %s", again)
		}
		must(t, w.Partners.End(ctx, w.admin, p.ID, "moved"))
		wantCode(t, "ended", registry.CodeConflict, w.Partners.Correct(ctx, w.admin, p.ID, good))
		own, err := w.Partners.EnsureOwn(ctx, "Own", "")
		must(t, err)
		wantCode(t, "own", registry.CodeConflict, w.Partners.Correct(ctx, w.admin, own.ID, good))

		waiting := w.register(t, "Oost", before.OIN, "olga@oost.example")
		moved := partners.Registration{Name: "Oost", OIN: before.OIN, Contact: partners.Contact{Name: "Olga", Email: "o@oost.example"}}
		if f := fieldsOf(w.Partners.Correct(ctx, w.admin, waiting.ID, moved)); f["email"] == "" {
			t.Errorf("the address of who did not confirm it: %v", f)
		}
	})
}
