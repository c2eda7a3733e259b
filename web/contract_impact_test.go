package web

import (
	"net/url"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/partners"
	"schakel/store"
)

// A partner is told on the page of a version whether it is safe for what it has, and nobody else's use is shown.
func TestImpactOnPartner(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	sub := o.subscription(t, o.endpoint(t, o.partner.ID).ID)
	noError(t, o.reg.Subscriptions.Approve(t.Context(), registry.SystemActor(), sub.ID))
	o.setVisibility(t, "student-events", store.VisibilityPublic)
	first, second := "/contracts/student-events/versions/1.0.0", "/contracts/student-events/versions/2.0.0"
	own := o.asPartner(t)
	lacks(t, text(own.get(first)), "safe for you") // there is no other version
	for _, version := range []string{"1.1.0", "2.0.0"} {
		o.secondVersion(t, version)
		must(publishDraft(t.Context(), o.reg, registry.SystemActor(), "student-events", version, "It could not wait."))(t)
	}
	minor := "/contracts/student-events/versions/1.1.0"
	wantWords(t, text(own.get(minor)), "Is version 1.1.0 safe for you?", "No: version 1.1.0 breaks 1 thing that you have.", "/partner/subscriptions/"+sub.ID, minor+"/reading?since=1.0.0")
	changes := minor + "/changes?from=1.0.0"
	wantWords(t, text(own.get(changes)), "Is version 1.1.0 safe for you?", minor+"?from=1.0.0#impact")
	lacks(t, o.page(t, changes), "safe for you")
	// The subscription is to the line of versions of its request, 1.
	wantWords(t, text(own.get(second+"?from=1.0.0")), "Version 2.0.0 does not reach you", "/partner/subscriptions/"+sub.ID, "stays on another version")
	wantWords(t, text(own.get(first+"?from=2.0.0")), "Is version 1.0.0 safe for you?")
	// One that gets the versions of line 2 has nothing to adapt: it never got version 1.
	moved := must(o.reg.Subscriptions.Request(t.Context(), registry.SystemActor(), partners.SubscriptionRequest{
		Name: "Moved", EndpointID: o.endpoint(t, o.partner.ID).ID, Types: []string{officeType}, Purpose: "To make accounts for new students.", Versions: map[string]string{officeType: "2"},
	}))(t)
	noError(t, o.reg.Subscriptions.Approve(t.Context(), registry.SystemActor(), moved.ID))
	page := text(own.get(second + "?from=1.0.0"))
	wantWords(t, page, "your subscriptions are for version 2.0.0 already", "is for this version", "/partner/subscriptions/"+moved.ID, "Compared with version")
	lacks(t, page, "breaks 1 thing")
	// One that is paused goes on one day, and is affected as well.
	noError(t, o.reg.Subscriptions.Pause(t.Context(), registry.SystemActor(), sub.ID, "Maintenance."))
	wantWords(t, text(own.get(minor)), "No: version 1.1.0 breaks 1 thing that you have.", "/partner/subscriptions/"+sub.ID)
	lacks(t, text(o.browser().get(second))+o.page(t, second), "safe for you", "/partner/subscriptions/")
	o.harness.partner(t, "zus@zuid.example")
	other := text(o.browser().login(t, "zus@zuid.example").get(second))
	wantWords(t, other, "You have no approved subscription or client that uses an event type of this contract.")
	lacks(t, other, sub.ID)
}

// Of an API it is not known who calls what: the operations that changed are listed, since the version that the partner downloaded.
func TestImpactOfAPI(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	o.openAPI(t, "schools", readableContract)
	for _, version := range []string{"1.0.0", "1.0.1", "2.0.0"} {
		if version != "1.0.0" {
			next := strings.Replace(readableContract, "version: 1.0.0", "version: "+version, 1)
			if version == "2.0.0" {
				next = strings.Replace(next, "maxLength: 6", "maxLength: 4", 1)
			}
			must(o.reg.Contracts.Upload(t.Context(), registry.SystemActor(), "schools", contracts.Upload{Content: []byte(next)}))(t)
		}
		must(publishDraft(t.Context(), o.reg, registry.SystemActor(), "schools", version, ""))(t)
	}
	own, target := o.asPartner(t), "/contracts/schools/versions/2.0.0"
	wantWords(t, text(own.get(target)), "1 operation changed since version 1.0.1 in a way that breaks who calls it.", "GET /schools/{id}")
	own.get("/contracts/schools/versions/1.0.0/original")
	noError(t, o.reg.Downloads.Write(t.Context()))
	wantWords(t, text(own.get(target)), "changed since version 1.0.0", "Your organisation downloaded this version last.")
	wantWords(t, text(own.get(target+"?"+url.Values{"from": {"1.0.1"}}.Encode())), "changed since version 1.0.1")
	wantWords(t, text(own.get("/contracts/schools/versions/1.0.1")), "Yes: no change between version 1.0.0 and version 1.0.1 breaks anything.")
}
