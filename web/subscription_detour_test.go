package web

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// A list on the page of an endpoint or a partner does not repeat whose page it is, which would leave no room for the rest.
func TestListsLeaveOutWhosePageItIs(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	endpoints := must(w.db.Endpoints(t.Context(), w.first.id))(t)
	for _, page := range []struct {
		path, without string
		columns       int
	}{{"/admin/endpoints/" + endpoints[0].ID, "Endpoint", 3}, {"/admin/partners/" + w.first.id, "Partner", 4}} {
		_, list, _ := strings.Cut(text(w.admin.get(page.path)), `id="subscriptions"`)
		list, _, _ = strings.Cut(list, "</thead>")
		if strings.Contains(list, page.without+"</th>") || strings.Count(list, "<th ") != page.columns {
			t.Errorf("%s: the columns are %s", page.path, list)
		}
	}
}

// Whoever asks for an event type without having an endpoint adds one on the way, of any kind, and the form knows the event type afterwards.
func TestEventTypeIsKeptWhileAnEndpointIsAdded(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, _ := h.at(t, "pat@example.nl")
	const chosen = "types=nl.example.student.enrolled.v1"
	page := text(b.get("/partner/subscriptions/new?" + chosen))
	add := html.UnescapeString(match(t, `/partner/endpoints/new[^"]*`, page))
	if !strings.Contains(add, chosen) {
		t.Fatalf("the way to an endpoint is %s", add)
	}
	form := wantPage(t, b.get(add), http.StatusOK, `name="types" value="nl.example.student.enrolled.v1"`)
	if other := html.UnescapeString(match(t, `/partner/endpoints/new\?kind=pull[^"]*`, form)); !strings.Contains(other, chosen) {
		t.Errorf("the way to another kind is %s", other)
	}
	typed := endpointForm()
	typed["types"] = []string{"nl.example.student.enrolled.v1"}
	refused := wantPage(t, b.post("/partner/endpoints", changed(endpointForm("url", "http://roc.example.nl"), "types", "nl.example.student.enrolled.v1")), http.StatusUnprocessableEntity, `name="types"`)
	lacks(t, refused, `name="types" value=""`)
	to := redirected(t, b.post("/partner/endpoints", typed))
	ask := html.UnescapeString(match(t, `/partner/subscriptions/new\?endpoint=[^"]*`, text(b.get(to))))
	if u, err := url.Parse(ask); err != nil || u.Query().Get("types") != "nl.example.student.enrolled.v1" || u.Query().Get("endpoint") == "" {
		t.Errorf("after the endpoint it leads to %s, %v", ask, err)
	}
}
