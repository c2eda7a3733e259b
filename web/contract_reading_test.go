package web

import (
	"net/http"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
)

const readableContract = `openapi: 3.1.0
info: {title: Schools, version: 1.0.0, description: "# Schools\n\nAll of [them](javascript:alert(1)). <script>alert(1)</script>"}
servers: [{url: 'https://api.example.nl', description: "<svg onload=alert(1)>"}]
paths:
  /schools/{id}:
    get:
      summary: One <b>school</b>
      description: "![x](https://tracker.example/x.png) and **bold**"
      parameters: [{name: id, in: path, required: true, schema: {type: string, maxLength: 6}}]
      responses: {'200': {description: The school., content: {application/json: {schema: {$ref: '#/components/schemas/School'}}}}}
components:
  schemas:
    School: {type: object, properties: {head: {$ref: '#/components/schemas/Person'}, of: {$ref: '#/components/schemas/School'}}}
    Person: {type: object, required: [name], properties: {name: {type: string, description: "[a](data:text/html;base64,x)"}}}
`

func (o *adminHarness) openAPI(t *testing.T, id, document string) {
	t.Helper()
	ctx, who := t.Context(), registry.SystemActor()
	_, err := o.reg.Contracts.Create(ctx, who, contracts.ContractInput{ID: id, Kind: "openapi", Title: "Schools", Visibility: "public"})
	noError(t, err)
	_, err = o.reg.Contracts.Upload(ctx, who, id, contracts.Upload{Content: []byte(document)})
	noError(t, err)
}

func TestReadingPage(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	o.openAPI(t, "schools", readableContract)
	target := "/contracts/schools/versions/1.0.0/reading"
	wantStatus(t, o.browser().get(target), http.StatusNotFound) // a draft
	_, err := publishDraft(t.Context(), o.reg, registry.SystemActor(), "schools", "1.0.0", "")
	noError(t, err)
	answer := o.browser().get(target)
	wantStatus(t, answer, http.StatusOK)
	page := text(answer)
	wantText(t, page, "GET /schools/{id}", "id (path)", "at most 6 characters", "<strong>Schools</strong>", "&lt;script&gt;alert(1)&lt;/script&gt;",
		`href="/contracts/schools/versions/1.0.0/reading?page=1#part-3"`, "<strong>bold</strong>")
	for _, bad := range []string{"<script>alert", "javascript:", "data:text", "<svg onload", "tracker.example", "<b>school"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	wantText(t, text(o.browser().get(target+"?kind=schema&q=person")), `id="part-2"`, "1 part")
	wantText(t, text(o.browser().get(target+"?q=nothing")), "No part of this version matches.")
	wantText(t, o.page(t, "/contracts/schools/versions/1.0.0"), "Read it")
}

// Administrators see who uses a version, a partner its own use, and nobody else any.
func TestReadingUses(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	sub := o.subscription(t, o.endpoint(t, o.partner.ID).ID)
	noError(t, o.reg.Subscriptions.Approve(t.Context(), registry.SystemActor(), sub.ID))
	o.setVisibility(t, "student-events", "public")
	target := "/contracts/student-events/versions/1.0.0/reading"
	wantText(t, o.page(t, target), "Who uses its event types", sub.ID, o.partner.Name, "nl.example.student.enrolled", "studentId")
	own := o.asPartner(t)
	wantText(t, text(own.get(target)), "Your subscriptions to its event types", sub.ID)
	o.harness.partner(t, "zus@zuid.example")
	other := o.browser()
	other.login(t, "zus@zuid.example")
	page := text(other.get(target))
	wantText(t, page, "You have no approved subscription")
	if visitor := text(o.browser().get(target)); strings.Contains(page+visitor, sub.ID) || strings.Contains(visitor, "ubscription to") {
		t.Error("others see who is subscribed")
	}
}
