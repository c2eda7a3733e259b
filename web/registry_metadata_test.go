package web

import (
	"net/http"
	"strings"
	"testing"

	"schakel/registry"
)

// Metadata is changed in parts, and a new owner comes with what was agreed.
//
// Rules: EDU-06c, EDU-22, EDU-25, CE-07, CE-20.
func TestContractPatch(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	writer := h.writer(t)
	publishedContract(t, writer, "partners")
	patch := func(c *apiClient, body string) apiAnswer {
		return c.do(t, http.MethodPatch, contractTarget, body, "Content-Type", "application/merge-patch+json")
	}
	changed := patch(writer, `{"classification":"BIV 2-2-2","basedOn":"OSO 2.4","idMeaning":"A random UUID.","timeMeaning":"When we wrote it down.","contact":{"name":"Ada"}}`).want(t, 200)
	for name, want := range map[string]any{
		"title": "Student events", "classification": "BIV 2-2-2", "basedOn": "OSO 2.4", "idMeaning": "A random UUID.", "timeMeaning": "When we wrote it down.",
	} {
		if got := changed.member(t, name); got != want {
			t.Errorf("%s is %v", name, got)
		}
	}
	patch(writer, `{"title":"x"}`).problem(t, 400, "invalid")
	patch(writer, `{"contact":{"email":"nobody"}}`).problem(t, 400, "invalid")
	patch(writer, `{"agreedOn":"soon"}`).problem(t, 400, "invalid")
	patch(writer, `{"visibility":"public"}`).problem(t, 400, "invalid")
	school := h.newPartner(t, "School")
	reads := h.newClient(t, school.ID, registryWrite())
	patch(reads, `{"title":"Mine now"}`).problem(t, 404, "not-found")
	patch(writer, `{"ownerPartnerId":"`+school.ID+`"}`).problem(t, 400, "invalid")
	moved := patch(writer, `{"ownerPartnerId":"`+school.ID+`","agreement":"Chain board","agreedOn":"2026-05-01"}`).want(t, 200)
	if moved.member(t, "owner") != "School" || moved.member(t, "agreedOn") != "2026-05-01" {
		t.Errorf("moved %s", moved.body)
	}
	patch(writer, `{"title":"Still mine"}`).problem(t, 404, "not-found")
	patch(reads, `{"title":"Mine now","owner":"Nobody"}`).want(t, 200)
	if got := reads.get(t, contractTarget).want(t, 200); got.member(t, "owner") != "School" || got.member(t, "title") != "Mine now" {
		t.Errorf("got %s", got.body)
	}
}

// Who sees a contract is changed with a reason, and taken away only when that is accepted.
//
// Rules: EDU-06d.
func TestContractVisibilityOverTheAPI(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	writer := h.writer(t)
	publishedContract(t, writer, "internal")
	named, other := h.newPartner(t, "School"), h.newPartner(t, "Other")
	put := func(c *apiClient, body string) apiAnswer {
		return c.do(t, http.MethodPut, contractTarget+"/visibility", body, "Content-Type", "application/json")
	}
	sees := func(visitor, first, second int) {
		t.Helper()
		for c, want := range map[*apiClient]int{h.anyone(): visitor, h.consumer(t, named.ID): first, h.consumer(t, other.ID): second} {
			for _, rest := range []string{"", "/versions", "/releases", "/versions/latest/content", "/versions/1.0.0/original", "/versions/1.0.0/changes?from=1.0.0"} {
				if got := c.get(t, contractTarget+rest); got.status != want {
					t.Errorf("%s: %d, want %d", rest, got.status, want)
				}
			}
			if list := c.get(t, "/registry/v1/contracts").want(t, 200); strings.Contains(string(list.body), "student-events") != (want == 200) {
				t.Errorf("list %s", list.body)
			}
		}
		for c, want := range map[*apiClient]int{h.consumer(t, named.ID): first, h.consumer(t, other.ID): second} {
			if got := c.get(t, "/events/v1/event-types/nl.example.student.left"); got.status != want {
				t.Errorf("event type: %d, want %d", got.status, want)
			}
			if list := c.get(t, "/events/v1/event-types").want(t, 200); strings.Contains(string(list.body), "student-events") != (want == 200) {
				t.Errorf("catalogue %s", list.body)
			}
		}
	}
	sees(404, 404, 404)
	put(writer, `{"visibility":"public"}`).problem(t, 400, "invalid")
	put(writer, `{"visibility":"named","reason":"the board said so"}`).problem(t, 400, "invalid")
	shown := put(writer, `{"visibility":"named","partnerIds":["`+named.ID+`"],"reason":"the board said so"}`).want(t, 200)
	if ids, ok := shown.member(t, "partnerIds").([]any); !ok || len(ids) != 1 {
		t.Errorf("shown %s", shown.body)
	}
	sees(404, 200, 404)
	if got := h.consumer(t, named.ID).get(t, contractTarget).want(t, 200); strings.Contains(string(got.body), "partnerIds") {
		t.Error("a partner sees who else sees it")
	}
	put(writer, `{"visibility":"public","reason":"the board said so"}`).want(t, 200)
	sees(200, 200, 200)
	narrow := `"visibility":"named","partnerIds":["` + other.ID + `"],"reason":"it leaked"`
	lost := put(writer, "{"+narrow+"}").problem(t, http.StatusConflict, "sight-lost")
	if len(lost.Errors) != 2 || lost.Errors[0].Code != "everybody" || lost.Errors[1].Code != named.ID {
		t.Errorf("told %+v", lost.Errors)
	}
	put(writer, "{"+narrow+`,"acceptLoss":true}`).want(t, 200)
	sees(404, 404, 200)
	put(h.newClient(t, other.ID, registryWrite()), "{"+narrow+"}").problem(t, 404, "not-found")
}

// A partner registers its contract over the API, and asks for publication.
//
// Rules: EDU-21.
func TestPartnerContractOverTheAPI(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	school := h.newPartner(t, "School")
	partner := h.newClient(t, school.ID, registryWrite())
	made := partner.postJSON(t, "/registry/v1/contracts", `{"id":"student-events","kind":"asyncapi","title":"Student events","visibility":"public"}`).want(t, 201)
	if made.member(t, "owner") != "School" {
		t.Errorf("made %s", made.body)
	}
	upload(t, partner, sampleContract).want(t, 201)
	stranger := h.newClient(t, h.newPartner(t, "Other").ID, registryWrite())
	draft := contractTarget + "/versions/1.0.0"
	stranger.do(t, http.MethodPost, draft+"/publication", "").problem(t, 404, "not-found")
	upload(t, stranger, sampleContract).problem(t, 404, "not-found")
	asked := partner.publishVersion(t, draft, "").want(t, http.StatusAccepted)
	if asked.member(t, "status") != "draft" || asked.member(t, "publicationRequestedAt") == nil {
		t.Errorf("asked %s", asked.body)
	}
	partner.publishVersion(t, draft, "").problem(t, http.StatusConflict, "conflict")
	h.anyone().get(t, contractTarget).problem(t, 404, "not-found")
	_, err := publishDraft(t.Context(), h.reg, registry.SystemActor(), "student-events", "1.0.0", "")
	noError(t, err)
	h.anyone().get(t, contractTarget).want(t, 200)
	partner.do(t, http.MethodPost, contractTarget+"/versions/1.0.0/deprecation", `{"sunset":"2030-01-01"}`, "Content-Type", "application/json").want(t, 200)
	for _, form := range []string{"content", "content.json", "content.yaml", "original"} {
		answer := h.anyone().get(t, contractTarget+"/versions/latest/"+form).want(t, 200)
		if !strings.HasPrefix(answer.header.Get("Deprecation"), "@") || answer.header.Get("Sunset") != "Tue, 01 Jan 2030 23:59:59 GMT" || !strings.Contains(answer.header.Get("Link"), `rel="deprecation"`) {
			t.Errorf("%s: %v", form, answer.header)
		}
	}
	partner.do(t, http.MethodDelete, contractTarget+"/versions/1.0.0/deprecation", "").want(t, 200)
	if answer := h.anyone().get(t, contractTarget+"/versions/1.0.0/original").want(t, 200); answer.header.Get("Deprecation")+answer.header.Get("Sunset") != "" {
		t.Errorf("after the reversal: %v", answer.header)
	}
}
