package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"schakel/registry/contracts"
	"schakel/registry/identity"
	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store"
	"schakel/store/needs"
)

const storyContract = `asyncapi: 3.1.0
info:
  title: Story events
  version: 1.0.0
  description: "All about **students**. <script>alert(1)</script>"
channels:
  students:
    address: students
    messages:
      enrolled: {$ref: '#/components/messages/enrolled'}
operations:
  tell: {action: send, channel: {$ref: '#/channels/students'}}
components:
  messages:
    enrolled:
      name: TYPE
      title: Student enrolled
      contentType: application/json
      payload: {$ref: '#/components/schemas/Student'}
      examples: [{payload: {studentId: "42", school: "27AB"}}]
  schemas:
    Student:
      type: object
      required: [studentId]
      properties:
        studentId: {type: string, description: "Who it is. [More](https://example.nl)"}
        school: {type: string}
`

// TestContractStoryInBrowser plays the story of a contract in a real browser, with
// JavaScript and without: a maintainer uploads a broken document, is led to the
// line, mends it, publishes, and is stopped at a breaking change; an integrator
// finds it, reads it, compares two versions, downloads one and subscribes to its
// feed; a partner makes one of its own. Every page on the way is looked at by axe,
// in one of light, dark and phone; SCHAKEL_E2E_ALL=1 takes all three.
//
// Rules: EDU-06, EDU-06b, EDU-06e, EDU-21.
func TestContractStoryInBrowser(t *testing.T) {
	t.Parallel()
	needNode(t)
	chromium := needs.Program(t, "chromium")
	d := startDemo(t)
	for _, scripted := range []bool{true, false} {
		t.Run(fmt.Sprintf("javascript=%t", scripted), func(t *testing.T) {
			t.Parallel()
			n := rand.IntN(1_000_000)
			eventType := fmt.Sprintf("nl.voorbeeld.verhaal%d.leerling-ingeschreven.v1", n)
			good := strings.ReplaceAll(storyContract, "TYPE", eventType)
			play(t, "browser/contracts.js", map[string]any{
				"base": d.base, "javaScript": scripted, "chromium": chromium, "folder": folderFor(scripted),
				"admin":   map[string]string{"email": demo.OwnA().Email, "password": d.password},
				"partner": map[string]string{"email": "carla@kompas.example", "password": d.password},
				"id":      fmt.Sprintf("verhaal-%d", n), "title": fmt.Sprintf("Verhaal %d", n), "type": eventType,
				"good": good, "line": 19, "broken": strings.Replace(good, "#/components/schemas/Student", "#/components/schemas/Pupil", 1),
				"breaking": strings.NewReplacer("version: 1.0.0", "version: 1.1.0", "required: [studentId]", "required: [studentId, birthday]",
					"        school: {type: string}", "        school: {type: integer}\n        birthday: {type: string}").Replace(good),
			})
		})
	}
}

// folderFor returns the folder for the screenshots of a story: the one that E2E_KEEP names. Without it, and where keep is false,
// it is empty and none are made: drawing them takes as long as the rest of a look.
func folderFor(keep bool) string {
	if !keep {
		return ""
	}
	return os.Getenv("E2E_KEEP")
}

// extraCA is the setting that names a file with an authority which the script trusts.
const extraCA = "ca"

// play runs a script that drives a browser, with its settings.
func play(t *testing.T, script string, story map[string]any) {
	t.Helper()
	node, modules := needNode(t)
	settings, err := json.Marshal(story)
	trial.Must(t, err)
	cmd := exec.CommandContext(t.Context(), node, script)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules, "STORY="+string(settings))
	if file, ok := story[extraCA].(string); ok {
		cmd.Env = append(cmd.Env, "NODE_EXTRA_CA_CERTS="+file)
	}
	// Chromium is a child of node: both are of one group, and end together.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// hostileText tries to break out of where it is shown.
const hostileText = `Text of the author. <img src=x onerror='window.hit=1'> <script>window.hit=1</script> [a](javascript:window.hit=1) ![t](https://tracker.example/x.png)`

// redocDocuments are one of each version that Redoc must draw, by id.
func redocDocuments() map[string]map[string]any {
	info := map[string]any{"title": "Drawn by Redoc", "version": "1.0.0", "description": hostileText}
	operation := map[string]any{"summary": "List the schools", "operationId": "listSchools", "responses": map[string]any{"200": map[string]any{"description": hostileText}}}
	all := map[string]map[string]any{}
	for _, version := range []string{"3.0.4", "3.1.1", "3.2.0"} {
		all["openapi-"+version] = map[string]any{
			"openapi": version, "info": info, "paths": map[string]any{"/schools": map[string]any{"get": operation}},
		}
	}
	payload := map[string]any{"type": "object", "properties": map[string]any{"schoolId": map[string]any{"type": "string"}}}
	message := map[string]any{"name": "school-opened", "title": "List the schools", "payload": payload, "description": hostileText}
	all["asyncapi-2.6.0"] = map[string]any{
		"asyncapi": "2.6.0", "info": info,
		"channels": map[string]any{"schools": map[string]any{"subscribe": map[string]any{"operationId": "tell", "message": message}}},
	}
	for _, version := range []string{"3.0.0", "3.1.0"} {
		all["asyncapi-"+version] = map[string]any{
			"asyncapi": version, "info": info,
			"channels":   map[string]any{"schools": map[string]any{"address": "schools", "messages": map[string]any{"opened": message}}},
			"operations": map[string]any{"tell": map[string]any{"action": "send", "channel": map[string]any{"$ref": "#/channels/schools"}}},
		}
	}
	return all
}

// TestRedocStaysHere draws a document of each version in Redoc in a real browser.
// No request leaves this machine, nothing that the author wrote runs, and the page
// opens no window.
//
// Rules: EDU-21.
func TestRedocStaysHere(t *testing.T) {
	t.Parallel()
	chromium := needs.Program(t, "chromium")
	s := trial.NewProgram(t, trial.NewPKI(t), demo.OwnA(), trial.SQLitePath(t))
	var pages []map[string]any
	s.SetUp(t, func(c *demo.Chain) {
		ctx := t.Context()
		for name, document := range redocDocuments() {
			kind, _, _ := strings.Cut(name, "-")
			id := strings.ReplaceAll(name, ".", "-")
			content, err := json.Marshal(document)
			trial.Must(t, err)
			_, err = c.Contracts.Create(ctx, c.Admin, contracts.ContractInput{ID: id, Kind: kind, Title: name, Visibility: "public"})
			trial.Must(t, err)
			draft, err := c.Contracts.Upload(ctx, c.Admin, id, contracts.Upload{Content: content})
			trial.Must(t, err)
			_, err = c.Contracts.Publish(ctx, c.Admin, id, "1.0.0", contracts.PublishInput{Digest: draft.Digest})
			trial.Must(t, err)
			pages = append(pages, map[string]any{"path": "/contracts/" + id + "/versions/1.0.0", "texts": []string{"Drawn by Redoc", "Text of the author", "List the schools"}})
		}
	})
	s.Start(t)
	play(t, "browser/redoc.js", map[string]any{"base": s.Base, "chromium": chromium, "folder": folderFor(true), "pages": pages})
}

const typeContractPublished = "nl.schakel.contracts.contract-published.v1"

// TestContractEventsReachPartners has two partners subscribe to what the register
// tells. A version is published through the API, and each gets the CloudEvent at
// its webhook, also of what is shown to it by name; of a contract that it may not
// see it gets none.
//
// Rules: EDU-06, EDU-06d, EDU-07, EDU-08, EDU-N06.
func TestContractEventsReachPartners(t *testing.T) {
	t.Parallel()
	p := trial.NewPKI(t)
	s := trial.NewProgram(t, p, demo.OwnA(), trial.SQLitePath(t))
	r := trial.NewReceiver(t, p)
	s.Start(t) // it registers what it tells, which partners can subscribe to
	var creds demo.Credentials
	s.SetUp(t, func(c *demo.Chain) {
		ctx := t.Context()
		var err error
		creds, err = c.Publisher(ctx, c.Admin, s.Own, identity.ScopeRegistryWrite)
		trial.Must(t, err)
		for name, kvk := range map[string]string{"one": "34567890", "two": "45678901"} {
			partner, actor, err := c.Approved(ctx, trial.Organisation(name, kvk))
			trial.Must(t, err)
			_, err = c.Subscribe(ctx, actor, r.Target(name, "/"+name), typeContractPublished)
			trial.Must(t, err)
			if name == "one" { // the other may not see this one
				_, err = c.Contracts.Create(ctx, c.Admin, contracts.ContractInput{
					ID: "only-one", Kind: "openapi", Title: "Only one", Visibility: store.VisibilityNamed, PartnerIDs: []string{partner.ID},
				})
				trial.Must(t, err)
			}
		}
		for id, visibility := range map[string]string{"inside": store.VisibilityInternal, "shared": store.VisibilityPartners} {
			_, err := c.Contracts.Create(ctx, c.Admin, contracts.ContractInput{ID: id, Kind: "openapi", Title: id, Visibility: visibility})
			trial.Must(t, err)
		}
	})
	token := s.Token(t, creds, "registry.write")
	for _, id := range []string{"only-one", "inside", "shared"} {
		base := "/registry/v1/contracts/" + id + "/versions"
		document := `{"openapi":"3.2.0","info":{"title":"Schools","version":"1.0.0"},"servers":[{"url":"https://schools.example/v1"}],"paths":{}}`
		s.Call(t, "POST", base, token, map[string]string{"Content-Type": "application/json"}, document).Want(t, 201)
		s.Call(t, "POST", base+"/1.0.0/publication", token, trial.Reviewed([]byte(document)), nil).Want(t, 200)
	}
	told := func(status string) {
		t.Helper()
		for _, path := range []string{"/one", "/two"} {
			trial.Eventually(t, path+" is told that the contract is "+status, func() (bool, string) {
				all := strings.Join(r.Bodies(path), "\n")
				return strings.Contains(all, `"status":"`+status+`"`), all
			})
		}
	}
	told("published")
	s.Call(t, "POST", "/registry/v1/contracts/shared/versions/1.0.0/deprecation", token, nil, map[string]string{"reason": "Use another."}).Want(t, 200)
	told("deprecated") // what was published before it has been looked at
	trial.Eventually(t, "/one is told of the contract it sees by name", func() (bool, string) {
		all := strings.Join(r.Bodies("/one"), "\n")
		return strings.Contains(all, `"contractId":"only-one"`), all
	})
	checkTold(t, s.Base, r.Bodies("/one"), "shared", "only-one")
	checkTold(t, s.Base, r.Bodies("/two"), "shared")
}

// checkTold holds the events against the register; they are of these contracts alone.
func checkTold(t *testing.T, base string, bodies []string, contracts ...string) {
	t.Helper()
	for _, body := range bodies {
		var e struct {
			Type, Subject, Source string
			Data                  struct{ ContractID, Version, URL string }
		}
		trial.Must(t, json.Unmarshal([]byte(body), &e))
		if e.Type != typeContractPublished || !slices.Contains(contracts, e.Subject) || e.Data.ContractID != e.Subject || e.Data.Version != "1.0.0" ||
			e.Data.URL != base+"/contracts/"+e.Subject+"/versions/1.0.0" || !strings.HasPrefix(e.Source, "urn:nld:oin:") {
			t.Errorf("told: %s", body)
		}
	}
}
