package web

import (
	"net/http"
	"strings"
	"testing"

	"schakel/delivery/amqp/certs/certtest"
	"schakel/registry"
	"schakel/registry/partners"
	"schakel/registry/profile"
)

// A partner gives its endpoint a client certificate. The page shows what it is and until when, and never its key; a refused key is not shown again
// either. Nobody else takes it away.
func TestEndpointCertificate(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, _ := h.at(t, "pat@example.nl")
	here := newEndpoint(t, b)
	pki := certtest.New(t, h.clock.Now())
	pair, other := pki.Issue("00000001123456789000"), pki.Issue("00000001123456789000")
	secret := strings.Split(string(other.KeyPEM), "\n")[1]
	page := wantPage(t, b.post(here, endpointForm("certificate", string(pair.Chain), "certificateKey", string(other.KeyPEM))), http.StatusUnprocessableEntity,
		`href="#certificateKey"`, "This key is not that of the certificate.", "BEGIN CERTIFICATE")
	lacks(t, page, secret, "BEGIN PRIVATE KEY")
	wantRedirect(t, b.post(here, endpointForm("certificate", string(pair.Chain), "certificateKey", string(pair.KeyPEM))), here)
	shown := text(b.get(here))
	wantWords(t, shown, "Client certificates", pair.Cert.Subject.String(), pki.Between.Subject.String(), "In use", "Remove")
	form := text(b.get(here + "/edit"))
	wantWords(t, form, "1 certificate is stored", "Use it after")
	key := strings.Split(string(pair.KeyPEM), "\n")[1]
	lacks(t, shown+form, key)
	e := must(h.db.Endpoint(t.Context(), idOf(here)))(t)
	list := must(partners.Certificates(e))(t)
	if len(list) != 1 || strings.Contains(e.Certificates, key) {
		t.Fatalf("stored %s", e.Certificates)
	}
	wantRedirect(t, b.post(here, endpointForm("certificate", string(other.Chain), "certificateKey", string(other.KeyPEM), "certificateWaitHours", "24")), here)
	wantWords(t, text(b.get(here)), "Waits")
	removal := here + "/certificates/" + list[0].ID + "/removal"
	// Where a change of the destination waits, no button is shown that would be refused, but what to do instead.
	_, _, err := h.reg.Profile.Save(t.Context(), h.admin, profile.ProfileChange{Values: map[string]string{"sending.new_destination": registry.DestinationApproval}})
	noError(t, err)
	held := text(b.get(here))
	wantWords(t, held, "An administrator of the organisation removes a client certificate")
	lacks(t, held, removal)
	_, _, err = h.reg.Profile.Save(t.Context(), h.admin, profile.ProfileChange{Version: 1, Values: map[string]string{"sending.new_destination": registry.DestinationAtOnce}})
	noError(t, err)
	wantWords(t, text(b.get(here)), removal)
	stranger, _ := h.at(t, "other@example.nl")
	wantStatus(t, stranger.post(removal, nil), http.StatusNotFound)
	wantRedirect(t, b.post(removal, nil), here)
	if left := must(partners.Certificates(must(h.db.Endpoint(t.Context(), idOf(here)))(t)))(t); len(left) != 1 || left[0].ID == list[0].ID {
		t.Errorf("%+v", left)
	}
}
