package web

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"schakel/delivery/jwe"
	"schakel/registry/contracts/contract"
	"schakel/store/needs"
	"schakel/web/api"
	"schakel/web/site"
)

// apiSpecs are our OpenAPI documents as a library that is not ours reads them. All tests share them.
type apiSpecs struct {
	docs map[string]*openapi3.T
}

func loadSpecs(t testing.TB) *apiSpecs {
	t.Helper()
	s, err := sharedSpecs()
	noError(t, err)
	return s
}

var sharedSpecs = sync.OnceValues(func() (*apiSpecs, error) {
	s := &apiSpecs{docs: map[string]*openapi3.T{}}
	for name, file := range apiDocuments() {
		content, err := file.JSON()
		if err != nil {
			return nil, err
		}
		if s.docs[name], err = openapi3.NewLoader().LoadFromData(content); err != nil {
			return nil, err
		}
		if err := s.docs[name].Validate(context.Background()); err != nil {
			return nil, err
		}
	}
	return s, nil
})

// apiDocuments are the documents that APIs serve, by the name of the API.
func apiDocuments() map[string]api.Document {
	docs := map[string]api.Document{}
	for _, d := range Documents() {
		if d.API != "" {
			docs[d.API] = d
		}
	}
	return docs
}

// base is the address under which a path of a document is served.
func base(doc *openapi3.T, item *openapi3.PathItem) string {
	if len(item.Servers) > 0 {
		return strings.TrimSuffix(item.Servers[0].URL, "/")
	}
	return doc.Servers[0].URL
}

// find is the operation of a request; nil when none is described. Of two paths
// that fit, the one with fewer parameters is meant.
func (s *apiSpecs) find(method, target string) *routers.Route {
	path, _, _ := strings.Cut(target, "?")
	var found *routers.Route
	for _, doc := range s.docs {
		for template, item := range doc.Paths.Map() {
			operation := item.Operations()[method]
			if operation == nil || !fits(base(doc, item)+template, path) {
				continue
			}
			if found == nil || strings.Count(template, "{") < strings.Count(found.Path, "{") {
				found = &routers.Route{Spec: doc, Path: template, PathItem: item, Method: method, Operation: operation}
			}
		}
	}
	return found
}

func fits(template, path string) bool {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != got[i] && (!strings.HasPrefix(want[i], "{") || got[i] == "") {
			return false
		}
	}
	return true
}

// check fails the test when an answer is not as the documents say. Answers to
// addresses and methods that do not exist are of no operation.
func (s *apiSpecs) check(t testing.TB, method, target string, answer apiAnswer) {
	t.Helper()
	if method == http.MethodHead || method == http.MethodOptions && answer.header.Get("Access-Control-Allow-Methods") != "" {
		return // a preflight is of the browser, not of the API
	}
	route := s.find(method, target)
	if route == nil {
		if answer.status != http.StatusNotFound && answer.status != http.StatusMethodNotAllowed {
			t.Errorf("%s %s answers %d but is not described", method, target, answer.status)
		}
		return
	}
	r := httptest.NewRequest(method, apiTestBase+target, nil)
	err := openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, Route: route},
		Status:                 answer.status, Header: answer.header, Body: io.NopCloser(bytes.NewReader(answer.body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true, ExcludeResponseBody: isOpaque(answer)},
	})
	if err != nil {
		t.Errorf("%s %s answers %d, which is not as described: %v\n%s", method, target, answer.status, err, answer.body)
	}
}

// isOpaque reports whether the library cannot read the body.
func isOpaque(a apiAnswer) bool {
	media := a.header.Get("Content-Type")
	return strings.Contains(media, "yaml") || media == "application/vnd.oai.openapi" || media == "application/zip" || media == "application/pdf" || media == jwe.MediaType
}

func TestDescriptionsAreValid(t *testing.T) {
	t.Parallel()
	needs.Unraced(t)
	for name, doc := range apiDocuments() {
		for form, read := range map[string]func() ([]byte, error){"yaml": doc.YAML, "json": doc.JSON} {
			content, err := read()
			noError(t, err)
			parsed, findings, err := contract.Parse(content, contract.Limits{})
			noError(t, err)
			if parsed != nil {
				findings = parsed.Validate()
			}
			for _, f := range findings {
				t.Errorf("%s.%s:%d %s %s: %s", name, form, f.Line, f.Severity, f.Pointer, f.Detail)
			}
		}
	}
}

// TestRoutesAreDescribed holds the routes against the documents, both ways.
//
// Rules: EDU-06a, EDU-N03.
func TestRoutesAreDescribed(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	var served, described []string
	for _, r := range h.app.Echo.Routes() {
		if _, ok := site.FindAPI(r.Path); ok {
			served = append(served, r.Method+" "+templated(r.Path))
		}
	}
	for name, doc := range h.spec.docs {
		for path, item := range doc.Paths.Map() {
			for method, operation := range item.Operations() {
				described = append(described, method+" "+base(doc, item)+path)
				if operation.OperationID == "" || operation.Summary == "" || operation.Security == nil {
					t.Errorf("%s: %s %s lacks operationId, summary or security", name, method, path)
				}
			}
		}
	}
	slices.Sort(served)
	slices.Sort(described)
	for _, route := range served {
		if !slices.Contains(described, route) {
			t.Errorf("served but not described: %s", route)
		}
	}
	for _, route := range described {
		if !slices.Contains(served, route) {
			t.Errorf("described but not served: %s", route)
		}
	}
}

// templated writes a path of the router as OpenAPI does.
func templated(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if name, ok := strings.CutPrefix(part, ":"); ok {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}

// TestScopesAreDescribed tries every operation with a token without any of the
// scopes its description names (SEC-10).
//
// Rules: SEC-10.
func TestScopesAreDescribed(t *testing.T) {
	needs.Unraced(t)
	t.Parallel()
	h := newAPIHarness(t, nil)
	all := []string{site.ScopeEventsPublish, site.ScopeEventsConsume, site.ScopeSubscriptionsWrite, site.ScopeRegistryRead, site.ScopeRegistryWrite, site.ScopeMutationsRead, site.ScopeMutationsPublish}
	tokens := map[string]string{}
	for _, scope := range all {
		tokens[scope] = h.clientWithScope(t, scope).token
	}
	for _, doc := range h.spec.docs {
		for path, item := range doc.Paths.Map() {
			for method, operation := range item.Operations() {
				scopes, open := scopesOf(operation)
				if len(scopes) == 0 || open {
					continue
				}
				target := base(doc, item) + strings.NewReplacer("{", "", "}", "").Replace(path)
				for _, scope := range all {
					c := &apiClient{h: h, token: tokens[scope]}
					answer := c.do(t, method, target, "")
					refused := answer.status == http.StatusForbidden && strings.Contains(string(answer.body), "insufficient-scope")
					if refused == slices.Contains(scopes, scope) {
						t.Errorf("%s %s with %s: %d, described are %v", method, target, scope, answer.status, scopes)
					}
				}
				h.anyone().do(t, method, target, "").problem(t, http.StatusUnauthorized, "token-missing")
			}
		}
	}
}

func scopesOf(operation *openapi3.Operation) (scopes []string, open bool) {
	if operation.Security == nil {
		return nil, true
	}
	for _, requirement := range *operation.Security {
		open = open || len(requirement) == 0
		scopes = append(scopes, requirement["oauth"]...)
	}
	return scopes, open
}

// Rules: EDU-06a, IDEM-I05.
func TestDescriptionServed(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	for _, target := range []string{"/events/v1/openapi.json", "/events/v1/openapi.yaml", "/registry/v1/openapi.json", "/oauth/openapi.yaml"} {
		answer := h.anyone().get(t, target).want(t, http.StatusOK)
		if answer.header.Get("Access-Control-Allow-Origin") != "*" || answer.header.Get("API-Version") != "1.0.0" {
			t.Errorf("%s: headers %v", target, answer.header)
		}
		tag := answer.header.Get("ETag")
		h.anyone().do(t, http.MethodGet, target, "", "If-None-Match", tag).want(t, http.StatusNotModified)
	}
	text := string(h.anyone().get(t, "/events/v1/openapi.yaml").body)
	for _, said := range []string{"expires when its lifetime is over", "| Lifetime of a key | 7 days |", "8e03978e-40d5-43e8-bc93-6894a57f9324", "key-reused"} {
		if !strings.Contains(text, said) {
			t.Errorf("IDEM-I05: the description does not say %q", said)
		}
	}
}

// The start page, in its text, and the footer of every page lead to the description of each API that partners use.
func TestPagesLinkDescriptions(t *testing.T) {
	t.Parallel()
	desk := newPortalHarness(t)
	for page, times := range map[string]int{"/": 2, "/contracts": 1} {
		body := text(desk.browser().get(page))
		for _, name := range []string{"events", "registry", "mutations"} {
			target := `href="/` + name + `/v1/openapi.json"`
			if n := strings.Count(body, target); n != times {
				t.Errorf("%s has %s %d times, want %d", page, target, n, times)
			}
		}
	}
	h := newAPIHarness(t, nil)
	for _, name := range []string{"events", "registry", "mutations"} {
		h.anyone().get(t, "/"+name+"/v1/openapi.json").want(t, http.StatusOK)
	}
}
