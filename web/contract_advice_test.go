package web

import (
	"net/http"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/profile"
	"schakel/store"
)

// The page of advice shows the score, the rules and the lines, for who may see the version.
//
// Rules: EDU-21, EDU-26.
func TestAdvicePage(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	sensitive := strings.Replace(sampleContract, "version: 1.0.0", "version: 2.0.0", 1)
	sensitive = strings.Replace(sensitive, "      left:\n", "      leaked: {name: nl.example.student.leaked, headers: {type: object, properties: {ce-type: {const: nl.example.student.leaked}, ce-subject: {type: string, description: The BSN of the student.}}}, payload: {type: object}}\n      left:\n", 1)
	_, err := o.reg.Contracts.Upload(t.Context(), registry.SystemActor(), "student-events", contracts.Upload{Content: []byte(sensitive)})
	noError(t, err)
	target := "/contracts/student-events/versions/2.0.0/advice"
	page := o.page(t, target)
	wantText(t, page, "of 100", "Edukoppeling", "EDU-26", "The attribute subject is for a citizen service number (BSN).", "/versions/2.0.0?line=", "nothing is needed to publish", "What to do:")
	wantText(t, o.page(t, "/contracts/student-events/versions/2.0.0"), "Score", "of 100", target)
	wantText(t, o.page(t, target+"?rule=event-sensitive"), "See all rules", "EDU-26")
	some := o.page(t, target+"?state=holds&severity=error")
	wantText(t, some, "kept")
	if strings.Contains(some, "not kept,") {
		t.Error("the filter lets through what is not kept")
	}
	wantText(t, o.page(t, target+"?state=%3Cb%3E"), "EDU-26", "nothing is needed to publish") // an unknown state narrows nothing
	wantText(t, o.page(t, target+"?rule=%3Cb%3E"), "No rule is like this.")

	partner := o.browser()
	partner.login(t, "pat@noord.example")
	wantStatus(t, partner.get(target), http.StatusNotFound) // a draft
	wantStatus(t, partner.get("/contracts/student-events/versions/1.0.0/advice"), http.StatusOK)
	o.setVisibility(t, "student-events", store.VisibilityInternal)
	wantStatus(t, o.browser().get("/contracts/student-events/versions/1.0.0/advice"), http.StatusNotFound)
}

// What is below the score that a chain asks for is told, and not published.
func TestScoreToPublish(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	o.secondVersion(t, "2.0.0")
	_, _, err := o.reg.Profile.Save(t.Context(), registry.SystemActor(), profile.ProfileChange{Values: map[string]string{"register.min_score": "100"}})
	noError(t, err)
	wantText(t, o.page(t, "/contracts/student-events/versions/2.0.0/advice"), "100 are needed to publish")
	_, err = publishDraft(t.Context(), o.reg, registry.SystemActor(), "student-events", "2.0.0", "it is needed")
	if err == nil || !strings.Contains(err.Error(), "this chain asks for 100") {
		t.Errorf("got %v", err)
	}
}
