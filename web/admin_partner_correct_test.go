package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"schakel/registry"
)

// An administrator corrects a registration on a page of its own; what is wrong stands beside its field, and the partner reads what changed.
func TestPartnerIsCorrected(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	p := o.requested(t, "Leerlingzorg Zuid", true)
	base := "/admin/partners/" + p.ID
	wantText(t, o.page(t, base), "Correct the registration", base+"/registration")
	wantText(t, o.page(t, base+"/registration"), p.OIN, p.ContactEmail, "Save the registration")
	form := url.Values{"name": {"Leerlingzorg Zuidoost"}, "oin": {"12"}, "contactName": {p.ContactName}, "email": {p.ContactEmail}}
	answer := o.admin.post(base+"/registration", form)
	wantStatus(t, answer, http.StatusUnprocessableEntity)
	wantText(t, text(answer), "An OIN has exactly 20 digits.", "Leerlingzorg Zuidoost")
	form.Set("oin", p.OIN)
	wantRedirect(t, o.admin.post(base+"/registration", form), base)
	wantText(t, o.page(t, base), "corrected the registration of Leerlingzorg Zuidoost: name Leerlingzorg Zuidoost (was Leerlingzorg Zuid)")
	noError(t, o.reg.Partners.Reject(t.Context(), registry.SystemActor(), p.ID, "not known"))
	if page := o.page(t, base); strings.Contains(page, base+"/registration") {
		t.Error("a rejected registration can be corrected")
	}
	wantRedirect(t, o.admin.get(base+"/registration"), base)
}
