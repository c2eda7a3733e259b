package web

import (
	"fmt"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/store"
	"schakel/web/api"
	contractswebcontracts "schakel/web/contracts"
	partnerswebpartners "schakel/web/partners"
)

func TestTryEvent(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	lines, err := h.reg.EventTypes.LinesOf(t.Context(), "nl.example.student.enrolled")
	noError(t, err)
	for _, tt := range []struct{ name, content, want string }{
		{"event", withData("1", `{"studentId":"1"}`), "true [1.0.0]"},
		{"data", `{"studentId":"1"}`, "true [1.0.0]"},
		{"data that does not fit", "{\n \"studentId\": 1}", "false [] 2:2 /studentId payload-type"},
		{"event that does not fit", withData("1", "{\n\"studentId\":1}"), "false [] 2:1 /data/studentId payload-type"},
		{"event of another type", strings.Replace(sampleEvent("1"), "enrolled", "left", 1), "type-differs"},
		{"broken event", `{"specversion":"1.0"}`, "/source attribute-missing"},
		{"no JSON", `{`, "false [] 0:0  json-syntax"},
	} {
		got, err := contractswebcontracts.CheckEvent(h.reg.Payloads, "nl.example.student.enrolled", []byte(tt.content), contractswebcontracts.VersionsIn(lines["nl.example.student.enrolled"]))
		noError(t, err)
		text := fmt.Sprint(got.Valid, " ", got.Fits)
		for _, f := range got.Findings {
			text += fmt.Sprintf(" %d:%d %s %s", f.Line, f.Column, f.Pointer, f.Code)
		}
		if !strings.Contains(text, tt.want) {
			t.Errorf("%s: %s, want %s", tt.name, text, tt.want)
		}
	}
}

func TestVersionsInTheOrderOfTheCheck(t *testing.T) {
	t.Parallel()
	row := func(v, status string) store.EventType {
		return store.EventType{ContractVersion: v, SortKey: v, Status: status}
	}
	lines := []registry.VersionLineOf{
		{Versions: []store.EventType{row("1.1.0", "published"), row("1.0.0", "deprecated")}},
		{Versions: []store.EventType{row("2.0.0", "published")}},
	}
	var got []string
	for _, v := range contractswebcontracts.VersionsIn(lines) {
		got = append(got, v.ContractVersion)
	}
	if strings.Join(got, " ") != "2.0.0 1.1.0 1.0.0" {
		t.Errorf("order %v", got)
	}
}

// Rules: CE-15.
func TestValidationsOfAnEventType(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	c := h.publisher(t, "")
	const path = "/events/v1/event-types/nl.example.student.enrolled/validations"
	var got contractswebcontracts.EventCheck
	c.postJSON(t, path, `{"studentId":5}`).want(t, 200).decode(t, &got)
	if got.Valid || len(got.Findings) != 1 || got.Findings[0].Pointer != "/studentId" || got.Findings[0].Line != 1 {
		t.Errorf("got %+v", got)
	}
	c.do(t, "POST", path, sampleEvent("1"), "Content-Type", "application/cloudevents+json").want(t, 200).decode(t, &got)
	if !got.Valid || fmt.Sprint(got.Fits) != "[1.0.0]" {
		t.Errorf("got %+v", got)
	}
	c.do(t, "POST", path, "<a/>", "Content-Type", "text/xml").want(t, 415)
	c.postJSON(t, "/events/v1/event-types/nl.none/validations", `{}`).want(t, 404)
	h.anyone().postJSON(t, path, `{}`).want(t, 401)
	c.postJSON(t, path, `"`+strings.Repeat("x", api.MaxJSONBytes)+`"`).want(t, 413)
	if n := h.eventCount(t); n != 0 {
		t.Errorf("%d events are kept", n)
	}
}

// Rules: EDU-08.
func TestCatalogueAndSubscriptionsTellVersions(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	h.nextVersion(t, "2.0.0")
	partner := h.newPartner(t, "North")
	endpoint := h.newEndpoint(t, partner.ID)
	c := h.consumer(t, partner.ID)
	const name = "nl.example.student.enrolled"
	var found contractswebcontracts.EventTypeAnswer
	c.get(t, "/events/v1/event-types/"+name).want(t, 200).decode(t, &found)
	if len(found.Versions) != 2 || found.Versions[0].Line != "2" || found.Versions[1].ContractVersion != "1.0.0" {
		t.Errorf("versions %+v", found.Versions)
	}
	ask := func(versions string, status int) partnerswebpartners.SubscriptionAnswer {
		t.Helper()
		var made partnerswebpartners.SubscriptionAnswer
		answer := c.postJSON(t, "/events/v1/subscriptions", `{"endpointId":"`+endpoint.ID+`","types":["`+name+`"],`+versions+`"purpose":"To know who is enrolled."}`).want(t, status)
		if status == 201 {
			answer.decode(t, &made)
		}
		return made
	}
	ask(`"versions":{"`+name+`":"9"},`, 400)
	if made := ask(`"versions":{"`+name+`":"1"},`, 201); made.Versions[name] != "1" {
		t.Errorf("versions %v", made.Versions)
	}
	if made := ask(``, 201); made.Versions[name] != "2" {
		t.Errorf("versions %v", made.Versions)
	}
	ask(`"versions":{"`+name+`":"any"},`, 400) // both would get it
}
