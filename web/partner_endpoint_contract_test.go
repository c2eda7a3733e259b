package web

import (
	"net/http"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
)

// Beside the form of an endpoint its contract is chosen among the APIs that the
// partner may see; what was named before stays when it is not among them.
//
// Rules: EDU-11, CE-56.
func TestEndpointContractIsChosen(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t).withCatalogue(t)
	b, _ := h.at(t, "pat@example.nl")
	wantWords(t, text(b.get("/partner/endpoints/new")), `name="contractId"`)
	ctx, admin := t.Context(), registry.SystemActor()
	for id, visibility := range map[string]string{"pat-webhook": "partners", "hidden-webhook": "internal", "draft-webhook": "partners"} {
		_, err := h.reg.Contracts.Create(ctx, admin, contracts.ContractInput{ID: id, Kind: "openapi", Title: "Webhook of Pat", Visibility: visibility})
		noError(t, err)
		document := `{"openapi":"3.2.0","info":{"title":"Webhook","version":"1.0.0"},"servers":[{"url":"https://pat.example/v1"}],"paths":{}}`
		_, err = h.reg.Contracts.Upload(ctx, admin, id, contracts.Upload{Content: []byte(document)})
		noError(t, err)
		if id != "draft-webhook" {
			_, err = publishDraft(ctx, h.reg, admin, id, "1.0.0", "")
			noError(t, err)
		}
	}
	page := text(b.get("/partner/endpoints/new"))
	wantWords(t, page, `<select`, "Webhook of Pat (pat-webhook)", `value="pat-webhook"`)
	lacks(t, page, "hidden-webhook", "draft-webhook")
	answer := b.post("/partner/endpoints", map[string][]string{"kind": {"webhook"}, "contractId": {"gone-webhook"}})
	wantStatus(t, answer, http.StatusUnprocessableEntity)
	wantWords(t, text(answer), `value="gone-webhook" selected`, `value="pat-webhook"`)
}
