package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/identity"
	webcontracts "schakel/web/contracts"
)

// Who fetches a version over the API is told before it is withdrawn: clients and read-only keys by name, also when they
// are told that nothing changed, and others as a number.
//
// Rules: EDU-06c, EDU-06e.
func TestDownloadsOverTheAPI(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	writer := h.writer(t)
	publishedContract(t, writer, "public")
	partner := h.newPartner(t, "Reader")
	_, plain, err := h.reg.ReadKeys.Create(t.Context(), registry.SystemActor(), partner.ID, identity.NewReadKey{Name: "Renovate"})
	noError(t, err)
	target := contractTarget + "/versions/1.0.0/"
	tag := h.anyone().get(t, target+"original").want(t, 200).header.Get("ETag")
	h.anyone().get(t, target+"content.json").want(t, 200)
	h.anyone().do(t, http.MethodGet, target+"original", "", "If-None-Match", tag).want(t, http.StatusNotModified)
	h.anyone().do(t, http.MethodGet, target+"original", "", "Authorization", "Bearer "+plain, "If-None-Match", tag).want(t, http.StatusNotModified)
	h.consumer(t, partner.ID).get(t, target+"content").want(t, 200)
	noError(t, h.reg.Downloads.Write(t.Context()))
	var effect struct {
		Downloads                          []webcontracts.DownloadAnswer
		OtherDownloads, AnonymousDownloads int
	}
	noError(t, json.Unmarshal(writer.get(t, target+"withdrawal").want(t, 200).body, &effect))
	kinds := map[string]string{}
	for _, d := range effect.Downloads {
		kinds[d.Kind] = d.Partner
	}
	if len(effect.Downloads) != 2 || kinds["client"] != "Reader" || kinds["read-key"] != "Reader" || effect.AnonymousDownloads != 2 || effect.OtherDownloads != 0 {
		t.Errorf("%+v", effect)
	}
}

// The portal lists the downloaders of a version for its maintainer, and for nobody else.
//
// Rules: EDU-06c, EDU-06e.
func TestDownloadsInThePortal(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	o.setVisibility(t, "student-events", "public")
	here := "/contracts/student-events/versions/1.0.0"
	wantText(t, o.page(t, here+"/reading"), "Who downloaded it: nobody yet")
	own := o.asPartner(t)
	wantStatus(t, own.get(here+"/original"), http.StatusOK)
	wantStatus(t, o.browser().get(here+"/yaml"), http.StatusOK)
	wantStatus(t, o.admin.get(here+"/json"), http.StatusOK)
	noError(t, o.reg.Downloads.Write(t.Context()))
	wantText(t, o.page(t, here+"/reading"), "Who downloaded it: 1 known reader, and 1 anonymous download", o.partner.Name, "Person")
	wantText(t, o.page(t, here), "downloaded by 1", "Who downloaded this version")
	for who, page := range map[string]string{"a partner": text(own.get(here + "/reading")), "a visitor": text(o.browser().get(here + "/reading"))} {
		if strings.Contains(page, "Who downloaded") || strings.Contains(page, "anonymous download") {
			t.Errorf("%s sees who downloaded it", who)
		}
	}
}
