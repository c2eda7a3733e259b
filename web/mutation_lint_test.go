package web

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
	webdatasets "schakel/web/datasets"
)

// lintFileText is a file whose second group uses the id of a state that is gone.
const lintFileText = `<?xml version="1.0" encoding="UTF-8"?>
<e:mutaties xmlns:e="urn:example:houses" xmlns:ml="http://www.kadaster.nl/schemas/mutatielevering-generiek/2.0">
<ml:mutatieBericht><ml:dataset>houses</ml:dataset><ml:inhoud><ml:mutatieType>delta</ml:mutatieType><ml:gebied/><ml:leveringsId>d-1</ml:leveringsId><ml:objectTypen><ml:objectType>House</ml:objectType></ml:objectTypen></ml:inhoud>
<ml:mutatieGroep><ml:wijziging objectType="House" objectId="1"><ml:was id="a"><e:House><e:n>1</e:n></e:House></ml:was><ml:wordt id="b"><e:House><e:n>2</e:n></e:House></ml:wordt></ml:wijziging></ml:mutatieGroep>
<ml:mutatieGroep><ml:verwijdering objectType="House" objectId="1"><ml:was id="a"><e:House><e:n>1</e:n></e:House></ml:was></ml:verwijdering></ml:mutatieGroep>
</ml:mutatieBericht></e:mutaties>
`

// uploadFile posts a form with one file; pairs of name and value stand before it, as on the page.
func (b *browser) uploadFile(path, field, name string, content []byte, pairs ...string) *http.Response {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for i := 0; i+1 < len(pairs); i += 2 {
		_ = w.WriteField(pairs[i], pairs[i+1])
	}
	part, _ := w.CreateFormFile(field, name)
	_, _ = part.Write(content)
	_ = w.Close()
	b.header.Set("Content-Type", w.FormDataContentType())
	defer b.header.Del("Content-Type")
	return b.do(http.MethodPost, path, body.String())
}

// lintZip is a delivery of one group, sound in every way.
func lintZip(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	root := format.Name{Prefix: "e", Space: "urn:example:houses", Local: "mutaties"}
	w := must(archive.NewDeliveryWriter(&out, format.Header{
		Root: root, Dataset: "houses", Type: format.Initial, DeliveryID: "d-1", ObjectTypes: []string{"House"},
		Namespaces: []format.Namespace{{Prefix: "e", URI: "urn:example:houses"}},
	}, archive.DeliveryOptions{}))(t)
	state := must(format.ParseState("a", []byte(`<e:House xmlns:e="urn:example:houses"><e:n>1</e:n></e:House>`)))(t)
	noError(t, w.WriteGroup(&format.Group{Mutations: []format.Mutation{{ObjectType: "House", ObjectID: "1", Wordt: state}}}))
	must(w.Close())(t)
	return out.Bytes()
}

// A mutation file is looked at as the command does, with file, line and group, for administrators and partners alike.
//
// Rules: MUT-64, MUT-30.
func TestMutationLintPage(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	admin := h.browser().login(t, testEmail)
	partner, _ := h.at(t, "pat@example.nl")
	bomb := "<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY a \"aaaa\">]><x>&a;</x>"
	for name, tt := range map[string]struct {
		file    []byte
		pairs   []string
		status  int
		words   []string
		without string
	}{
		"twice":    {[]byte(lintFileText), nil, 200, []string{"deltas.xml, line 5, group 2", "was-twice", "1 finding", "goes wrong"}, "was-unknown"},
		"complete": {[]byte(lintFileText), []string{"complete", "on"}, 200, []string{"deltas.xml, line 4, group 1", "was-unknown"}, ""},
		"sound":    {lintZip(t), nil, 200, []string{"Nothing is wrong with deltas.xml"}, "findings"},
		"bomb":     {[]byte(bomb), nil, 200, []string{"unreadable", "goes wrong"}, ""},
		"cut zip":  {lintZip(t)[:200], nil, 200, []string{"unreadable", "goes wrong"}, ""},
		"empty":    {nil, nil, 422, []string{"Choose a file that is not empty."}, ""},
	} {
		for area, b := range map[string]*browser{"/admin": admin, "/partner": partner} {
			page := wantPage(t, b.uploadFile(area+"/mutations/lint", "file", "deltas.xml", tt.file, tt.pairs...), tt.status)
			wantWords(t, page, tt.words...)
			if tt.without != "" && strings.Contains(page, `id="`+tt.without) || t.Failed() {
				t.Fatalf("%s in %s: %s", name, area, page)
			}
		}
	}
	wantWords(t, text(partner.get("/partner/mutations/lint")), "What is looked at", "512")
	wantStatus(t, partner.get("/admin/mutations/lint"), http.StatusForbidden)
	wantRedirect(t, h.browser().get("/partner/mutations/lint"), "/login?next=%2Fpartner%2Fmutations%2Flint")
	wantStatus(t, partner.post("/partner/mutations/lint", nil), http.StatusUnsupportedMediaType)
	wantPage(t, partner.uploadFile("/partner/mutations/lint", "other", "x", nil), http.StatusUnprocessableEntity, "Choose a file.")
}

// Only so many files are looked at at once; who comes next is told to wait.
func TestMutationLintBusy(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, _ := h.at(t, "pat@example.nl")
	var ends []func() int
	for range webdatasets.LintAtOnce {
		ends = append(ends, b.slowUpload(t, "/partner/mutations/lint"))
	}
	wantPage(t, b.uploadFile("/partner/mutations/lint", "file", "x.xml", []byte(lintFileText)), http.StatusServiceUnavailable, "Try again in a minute.")
	for _, end := range ends {
		if got := end(); got != http.StatusOK {
			t.Errorf("status %d of an upload that came slowly", got)
		}
	}
	wantStatus(t, b.uploadFile("/partner/mutations/lint", "file", "x.xml", []byte(lintFileText)), http.StatusOK)
}

// slowUpload starts an upload whose file comes only when the function it gives is called, which answers the status.
func (b *browser) slowUpload(t *testing.T, path string) func() int {
	t.Helper()
	from, to := io.Pipe()
	w := multipart.NewWriter(to)
	r := httptest.NewRequest(http.MethodPost, path, from)
	r.Host, r.Header = b.h.app.Cfg.BaseURL.Host, b.header.Clone()
	r.Header.Set("Content-Type", w.FormDataContentType())
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	status := make(chan int, 1)
	go func() {
		answer := httptest.NewRecorder()
		b.h.app.Handler().ServeHTTP(answer, r)
		status <- answer.Code
	}()
	part, err := w.CreateFormFile("file", "slow.xml") // comes back once the handler reads
	noError(t, err)
	return func() int {
		_, err := io.WriteString(part, lintFileText)
		noError(t, errors.Join(err, w.Close(), to.Close()))
		return <-status
	}
}
