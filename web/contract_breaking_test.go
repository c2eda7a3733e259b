package web

import (
	"net/http"
	"net/url"
	"testing"

	"schakel/registry"
)

// An administrator sees what a publication breaks and for whom, and says why.
func TestPublishBreakingPage(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	sub := o.subscription(t, o.endpoint(t, o.partner.ID).ID)
	noError(t, o.reg.Subscriptions.Approve(t.Context(), registry.SystemActor(), sub.ID))
	o.secondVersion(t, "1.1.0")
	target := "/admin/contracts/student-events/versions/1.1.0/publication"
	version, err := o.db.ContractVersion(t.Context(), "student-events", "1.1.0")
	noError(t, err)
	wantText(t, o.page(t, target), "What breaks since version 1.0.0", "By its changes this is version 2.0.0", "Who is subscribed to what breaks", o.partner.Name, sub.ID, `name="reason"`)

	for reason, says := range map[string]string{"": "Say why this is published", "no": "Use at least 3 characters."} {
		refused := o.admin.post(target, url.Values{"digest": {version.Digest}, "reason": {reason}})
		wantStatus(t, refused, http.StatusUnprocessableEntity)
		wantText(t, text(refused), says, `href="#reason"`)
	}
	partner := o.browser()
	partner.login(t, "pat@noord.example")
	wantStatus(t, partner.get(target), http.StatusForbidden)
	wantRedirect(t, o.admin.post(target, url.Values{"digest": {version.Digest}, "reason": {"All partners agreed."}}), "/contracts/student-events/versions/1.1.0")
	wantText(t, o.page(t, "/contracts/student-events/versions/1.1.0"), "All partners agreed.")
}
