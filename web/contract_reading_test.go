package web

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"golang.org/x/net/html"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/static"
	"schakel/store"
	"schakel/store/needs"
	view "schakel/templates/contracts"
	"schakel/templates/ui"
	webcontracts "schakel/web/contracts"
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
	must(o.reg.Contracts.Create(ctx, who, contracts.ContractInput{ID: id, Kind: "openapi", Title: "Schools", Visibility: "public"}))(t)
	must(o.reg.Contracts.Upload(ctx, who, id, contracts.Upload{Content: []byte(document)}))(t)
}

func TestReadingPage(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	o.openAPI(t, "schools", readableContract)
	target := "/contracts/schools/versions/1.0.0/reading"
	wantStatus(t, o.browser().get(target), http.StatusNotFound) // a draft
	must(publishDraft(t.Context(), o.reg, registry.SystemActor(), "schools", "1.0.0", ""))(t)
	page := wantPage(t, o.browser().get(target), http.StatusOK, "GET /schools/{id}", "Path parameters", "at most 6 characters", "<strong>Schools</strong>", "&lt;script&gt;alert(1)&lt;/script&gt;", `href="#schema-school"`, `id="operation-get-schools-id.response-200"`, "curl &#39;https://api.example.nl/schools/id&#39;", "<strong>bold</strong>")
	lacks(t, page, "<script>alert", "javascript:", "data:text", "<svg onload", "tracker.example", "<b>school")
	wantWords(t, text(o.browser().get(target+"?q=head")), "1 place has “head”", `href="#schema-school.head"`, "School", `id="schema-person"`)
	wantWords(t, text(o.browser().get(target+"?q=nothing")), "Nothing in this document has “nothing”.")
	hits := text(o.browser().get(target + "?hits=1&q=person"))
	if !strings.HasPrefix(hits, `<section id="hits"`) || strings.Contains(hits, "<html") || !strings.Contains(hits, "#schema-person") {
		t.Errorf("the hits alone: %s", hits)
	}
	wantWords(t, o.page(t, "/contracts/schools/versions/1.0.0"), "Read it")
}

// Administrators see who uses a version, a partner its own use, and nobody else any.
func TestReadingUses(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	sub := o.subscription(t, o.endpoint(t, o.partner.ID).ID)
	noError(t, o.reg.Subscriptions.Approve(t.Context(), registry.SystemActor(), sub.ID))
	o.setVisibility(t, "student-events", "public")
	target := "/contracts/student-events/versions/1.0.0/reading"
	wantWords(t, o.page(t, target), "Who uses its event types", sub.ID, o.partner.Name, "nl.example.student.enrolled", "studentId")
	own := o.asPartner(t)
	wantWords(t, text(own.get(target)), "Your subscriptions to its event types", sub.ID)
	o.harness.partner(t, "zus@zuid.example")
	other := o.browser().login(t, "zus@zuid.example")
	page := text(other.get(target))
	wantWords(t, page, "You have no approved subscription")
	if visitor := text(o.browser().get(target)); strings.Contains(page+visitor, sub.ID) || strings.Contains(visitor, "ubscription to") {
		t.Error("others see who is subscribed")
	}
}

// The page of the extra view lets Redoc write styles with a nonce of this answer,
// and reach nothing but us.
func TestRedocPage(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	o.openAPI(t, "schools", readableContract)
	target := "/contracts/schools/versions/1.0.0/redoc"
	wantStatus(t, o.browser().get(target), http.StatusNotFound) // a draft
	must(publishDraft(t.Context(), o.reg, registry.SystemActor(), "schools", "1.0.0", ""))(t)
	nonces := map[string]bool{}
	for range 2 {
		answer := o.browser().get(target)
		wantStatus(t, answer, http.StatusOK)
		policy, page := answer.Header.Get("Content-Security-Policy"), text(answer)
		found := regexp.MustCompile(`script-src 'nonce-(\w{20,})';`).FindStringSubmatch(policy)
		if found == nil || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || strings.Contains(policy, "allow-popups") {
			t.Fatalf("policy %s", policy)
		}
		nonces[found[1]] = true
		wantWords(t, page, `nonce="`+found[1]+`"`, `spec-url="/contracts/schools/versions/1.0.0/json"`, `disable-telemetry="true"`, "<noscript>", `href="/contracts/schools/versions/1.0.0/reading"`)
		if strings.Contains(page, `"https:`) || strings.Contains(page, "<style") {
			t.Errorf("page %s", page)
		}
		if answer.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("it is kept: %v", answer.Header)
		}
	}
	if len(nonces) != 2 {
		t.Error("two answers have one nonce")
	}
	wantWords(t, text(o.browser().get("/contracts/schools/versions/1.0.0/reading")), "Another view: Redoc", target)
}

func TestReadingLeadsToOtherVersions(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	o.secondVersion(t, "2.0.0")
	here := "/contracts/student-events/versions/"
	wantWords(t, o.page(t, here+"1.0.0/reading"), "Other versions", `href="`+here+`2.0.0/reading"`, here+"2.0.0/changes?from=1.0.0")
	wantWords(t, o.page(t, here+"2.0.0/reading"), here+"2.0.0/changes?from=1.0.0", `href="`+here+`1.0.0/reading"`)
	lacks(t, text(o.asPartner(t).get(here+"1.0.0/reading")), "2.0.0")
}

// What changed since another version is marked where it is, what was removed where it was.
func TestReadingMarksChanges(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	o.openAPI(t, "schools", readableContract)
	must(publishDraft(t.Context(), o.reg, registry.SystemActor(), "schools", "1.0.0", ""))(t)
	next := strings.NewReplacer("version: 1.0.0", "version: 2.0.0", "maxLength: 6", "maxLength: 4", "{name: {type: string", "{age: {type: integer}, nick: {type: string", "required: [name]", "required: []").Replace(readableContract)
	must(o.reg.Contracts.Upload(t.Context(), registry.SystemActor(), "schools", contracts.Upload{Content: []byte(next)}))(t)
	must(publishDraft(t.Context(), o.reg, registry.SystemActor(), "schools", "2.0.0", ""))(t)
	target := "/contracts/schools/versions/2.0.0/reading"
	page := text(o.browser().get(target + "?since=1.0.0"))
	wantWords(t, page, "Changes since version 1.0.0", `href="#operation-get-schools-id.path-id"`, "schakel-changed--breaking", "changed, breaking", "removed, breaking", "<del>", "added")
	if cut := strings.Index(page, "<del>"); cut < 0 || !strings.Contains(page[cut:min(cut+300, len(page))], "name") {
		t.Error("the property that was removed is not named")
	}
	lacks(t, text(o.browser().get(target)), "schakel-changed", "Changes since")
	wantStatus(t, o.browser().get(target+"?since=9.9.9"), http.StatusNotFound)
}

// largeOpenAPI is a document of at least size bytes, as JSON: operations that each
// answer a schema of their own.
func largeOpenAPI(size int) string {
	var paths, schemas strings.Builder
	// Documents have texts, or one of 13 MB would have more values than are read.
	text := strings.Repeat("A thing, and what it is for. ", 16)
	for i := 0; paths.Len()+schemas.Len() < size; i++ {
		if i > 0 {
			paths.WriteByte(',')
			schemas.WriteByte(',')
		}
		fmt.Fprintf(&paths, `"/things%d/{id}":{"get":{"operationId":"get%d","summary":"Thing %d","description":"All of **thing** %d, and [more](https://example.nl/%d).",`+
			`"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string","maxLength":6}}],`+
			`"responses":{"200":{"description":"The thing.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Thing%d"}}}}}}}`, i, i, i, i, i, i)
		fmt.Fprintf(&schemas, `"Thing%d":{"type":"object","description":"%s","required":["id"],"properties":{"id":{"type":"string"},`+
			`"next":{"$ref":"#/components/schemas/Thing%d"},"list":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"size":{"type":"integer"}}}}}}`, i, text, max(0, i-1))
	}
	return `{"openapi":"3.1.0","info":{"title":"Large","version":"1.0.0"},"paths":{` + paths.String() + `},"components":{"schemas":{` + schemas.String() + `}}}`
}

// The sizes that the reading view is measured at: a small document, one like the
// larger ones of the sector, and one like the largest in public.
var readingSizes = map[string]int{"small": 5_000, "600KB": 600_000, "13MB": 13_000_000}

// A large document is read in parts: the page stays small whatever its size.
func TestReadingOfLargeIsBounded(t *testing.T) {
	t.Parallel()
	needs.Unraced(t)
	o := newAdminHarness(t)
	o.openAPI(t, "large", largeOpenAPI(readingSizes["600KB"]))
	must(publishDraft(t.Context(), o.reg, registry.SystemActor(), "large", "1.0.0", ""))(t)
	for _, query := range []string{"", "?page=3", "?part=schema-thing7", "?q=thing1", "?page=999999", "?part=none"} {
		answer := o.browser().get("/contracts/large/versions/1.0.0/reading" + query)
		if page := text(answer); answer.StatusCode != http.StatusOK || len(page) > 200_000 {
			t.Errorf("%s: status %d, %d bytes", query, answer.StatusCode, len(page))
		}
	}
	// A part has the same address wherever it is shown, and a hit leads there.
	deep := text(o.browser().get("/contracts/large/versions/1.0.0/reading?part=schema-thing7"))
	wantWords(t, deep, `id="schema-thing7"`, "Next: Schemas", `href="/contracts/large/versions/1.0.0/reading?part=operation-get-things0-id#group-operations"`)
	lacks(t, deep, `id="operation-get-things0-id"`)
	wantWords(t, text(o.browser().get("/contracts/large/versions/1.0.0/reading?q=thing70")), `href="/contracts/large/versions/1.0.0/reading?part=schema-thing70#schema-thing70"`)
	if page := text(o.browser().get("/contracts/large/versions/1.0.0")); len(page) > 200_000 {
		t.Errorf("the source is shown in %d bytes", len(page))
	}
}

// BenchmarkReading makes the first page of a document, from its bytes to HTML.
func BenchmarkReading(b *testing.B) {
	for _, name := range []string{"small", "600KB", "13MB"} {
		b.Run(name, func(b *testing.B) {
			content := []byte(largeOpenAPI(readingSizes[name]))
			about, version := store.Contract{ID: "large", Kind: "openapi"}, store.ContractVersion{ContractID: "large", Version: "1.0.0"}
			b.SetBytes(int64(len(content)))
			b.ReportAllocs()
			for b.Loop() {
				c := echo.New().NewContext(httptest.NewRequest(http.MethodGet, "/contracts/large/versions/1.0.0/reading", nil), httptest.NewRecorder())
				v := must(webcontracts.ReadingView(c, about, version, content))(b)
				if v.Total == 0 {
					b.Fatal("nothing is shown")
				}
				noError(b, view.ReadingPage(ui.Page{Asset: static.Path}, v).Render(b.Context(), io.Discard))
			}
		})
	}
}

// hostileDocuments put what a browser would run in every text there is.
func hostileDocuments() []string {
	var list []string
	for _, text := range []string{
		"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>", "[a](javascript:alert(1))", "![a](data:text/html;base64,PHNjcmlwdD4=)",
		"\\\" onmouseover=\\\"alert(1)", "<svg><style><img src=x onerror=alert(1)></style></svg>", "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
		"[a](data:image/svg+xml,<svg onload=alert(1)>)", "<a href=javascript&colon;alert(1)>x</a>", "'-alert(1)-'", "</title><script>alert(1)</script>",
	} {
		openAPI := `{"openapi":"3.1.0","info":{"title":"X","version":"1.0.0","description":"X"},"servers":[{"url":"X","description":"X"}],"tags":[{"name":"X"}],` +
			`"paths":{"/X":{"get":{"summary":"X","description":"X","operationId":"X","tags":["X"],"parameters":[{"name":"X","in":"query","description":"X","schema":{"type":"string","enum":["X"],"pattern":"X"}}],` +
			`"responses":{"200":{"description":"X","content":{"X":{"schema":{"$ref":"#/components/schemas/X"},"example":"X"}}}}}}},` +
			`"components":{"schemas":{"X":{"title":"X","description":"X","type":"object","properties":{"X":{"type":"string","default":"X","description":"X"}}}},"securitySchemes":{"X":{"type":"http","scheme":"X","description":"X"}}}}`
		asyncAPI := `{"asyncapi":"3.0.0","info":{"title":"X","version":"1.0.0","description":"X"},"channels":{"X":{"address":"X","title":"X","messages":{"X":{"name":"X","title":"X","summary":"X","contentType":"X",` +
			`"payload":{"type":"object","properties":{"X":{"description":"X"}}},"examples":[{"name":"X","payload":"X"}]}}}},"operations":{"X":{"action":"send","channel":{"$ref":"#/channels/X"},"summary":"X"}}}`
		list = append(list, strings.ReplaceAll(openAPI, "X", text), strings.ReplaceAll(asyncAPI, "X", text))
	}
	return list
}

// readingOf is the reading view of a document, as HTML.
func readingOf(t testing.TB, content []byte) []byte {
	t.Helper()
	about, version := store.Contract{ID: "hostile", Kind: "openapi"}, store.ContractVersion{ContractID: "hostile", Version: "1.0.0"}
	c := echo.New().NewContext(httptest.NewRequest(http.MethodGet, "/contracts/hostile/versions/1.0.0/reading", nil), httptest.NewRecorder())
	v := must(webcontracts.ReadingView(c, about, version, content))(t)
	var page bytes.Buffer
	noError(t, view.ReadingPage(ui.Page{Asset: static.Path}, v).Render(t.Context(), &page))
	return page.Bytes()
}

// wantTame fails on anything in a page that a browser would run or load, other
// than what the frame of our pages has.
func wantTame(t testing.TB, page []byte) {
	t.Helper()
	own := []string{static.Path("htmx.min.js"), static.Path("app.js")}
	for z := html.NewTokenizer(bytes.NewReader(page)); ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			return
		}
		token := z.Token()
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		if slices.Contains([]string{"img", "iframe", "object", "embed", "style", "base", "math"}, token.Data) {
			t.Fatalf("the page has <%s>: %s", token.Data, token)
		}
		for _, a := range token.Attr {
			address := strings.ToLower(strings.TrimSpace(a.Val))
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "srcdoc":
				t.Fatalf("the page has %s", token)
			case token.Data == "script" && (a.Key != "src" || !slices.Contains(own, a.Val)) && a.Key != "defer":
				t.Fatalf("the page has %s", token)
			case (a.Key == "href" || a.Key == "src" || a.Key == "action") && (strings.HasPrefix(address, "javascript:") || strings.HasPrefix(address, "data:") || strings.HasPrefix(address, "vbscript:")):
				t.Fatalf("the page has %s", token)
			}
		}
	}
}

// Whatever the author of a document writes in it, its reading view shows text.
func TestReadingIsTame(t *testing.T) {
	t.Parallel()
	for _, document := range hostileDocuments() {
		page := readingOf(t, []byte(document))
		if !bytes.Contains(page, []byte(`class="schakel-part"`)) {
			t.Errorf("nothing is shown of %.200s", document)
		}
		wantTame(t, page)
	}
}

func FuzzReading(f *testing.F) {
	for _, document := range hostileDocuments() {
		f.Add([]byte(document))
	}
	f.Add([]byte(readableContract))
	f.Add([]byte(sampleContract))
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) < 64<<10 {
			wantTame(t, readingOf(t, content))
		}
	})
}
