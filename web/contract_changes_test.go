package web

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/store"
)

// setVisibility changes who sees a contract.
func (o *adminHarness) setVisibility(t *testing.T, id, visibility string, partnerIDs ...string) {
	t.Helper()
	_, err := o.reg.Contracts.SetVisibility(t.Context(), registry.SystemActor(), id, contracts.VisibilityChange{
		Visibility: visibility, PartnerIDs: partnerIDs, Reason: "for the test", AcceptLoss: true,
	})
	if e, ok := errors.AsType[*registry.Error](err); !ok || e.Code != registry.CodeConflict { // it is so already
		noError(t, err)
	}
}

// secondVersion uploads nextContract beside the sample contract.
func (o *adminHarness) secondVersion(t *testing.T, version string) {
	t.Helper()
	_, err := o.reg.Contracts.Upload(t.Context(), registry.SystemActor(), "student-events", contracts.Upload{Content: []byte(nextContract(version))})
	noError(t, err)
}

func TestChangesPage(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	wantText(t, o.page(t, "/contracts/student-events/versions/1.0.0/changes"), "This is the only version")
	o.secondVersion(t, "2.0.0")
	target := "/contracts/student-events/versions/2.0.0/changes"
	page := o.page(t, target)
	wantText(t, page, "From version 1.0.0 to version 2.0.0.", "make it version 2.0.0", "breaking", "nl.example.student.enrolled", "who reads it or calls it")
	wantText(t, o.page(t, "/contracts/student-events"), `/versions/2.0.0/changes?from=1.0.0`, "since 1.0.0")
	wantText(t, o.page(t, "/contracts/student-events/versions/2.0.0"), "What changed")
	wantText(t, o.page(t, target+"?from=2.0.0"), "Both versions say the same.")
	wantText(t, o.page(t, "/contracts/student-events/versions/1.0.0/changes"), "There is no version before this one", `value="2.0.0"`)
	wantStatus(t, o.admin.get(target+"?from=7.0.0"), http.StatusNotFound)

	partner := o.browser()
	partner.login(t, "pat@noord.example")
	wantStatus(t, partner.get(target), http.StatusNotFound) // a draft
	_, err := publishDraft(t.Context(), o.reg, registry.SystemActor(), "student-events", "2.0.0", "")
	noError(t, err)
	wantStatus(t, partner.get(target), http.StatusOK)
	o.setVisibility(t, "student-events", store.VisibilityInternal)
	wantStatus(t, partner.get(target), http.StatusNotFound)
	wantStatus(t, o.browser().get(target), http.StatusNotFound)
}

// A page shows the causes in parts, and links to the rest.
func TestChangesPageOfMany(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	var b strings.Builder
	for i := range 60 {
		name := string(rune('a'+i/26)) + string(rune('a'+i%26))
		b.WriteString("      " + name + ": {name: nl.example.student." + name + ", payload: {type: object}}\n")
	}
	many := strings.Replace(nextContract("2.0.0"), "      left:\n", b.String()+"      left:\n", 1)
	_, err := o.reg.Contracts.Upload(t.Context(), registry.SystemActor(), "student-events", contracts.Upload{Content: []byte(many)})
	noError(t, err)
	wantText(t, o.page(t, "/contracts/student-events/versions/2.0.0/changes"), `rel="next"`, "page=2")
	wantText(t, o.page(t, "/contracts/student-events/versions/2.0.0/changes?page=2"), "Harmless", `rel="prev"`)
}
