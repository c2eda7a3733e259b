package templates

import (
	"strings"
	"testing"

	"schakel/templates/ui"
	"schakel/templates/ui/uitest"
)

func TestLayoutForAVisitorOffersLogin(t *testing.T) {
	t.Parallel()
	doc := uitest.Render(t, uitest.With(ui.Layout(ui.Page{Title: "Contracts"})))
	if !strings.Contains(doc, `href="/login"`) || strings.Contains(doc, "/logout") || strings.Contains(doc, `id="navigation"`) {
		t.Error("a visitor must see log in, no log out and no navigation")
	}
	if !strings.Contains(doc, `<html lang="en"`) || !strings.Contains(doc, "/static/schakel.css") {
		t.Error("the defaults for language and assets are missing")
	}
}

func TestLayoutMarksTheCurrentPage(t *testing.T) {
	t.Parallel()
	var current []string
	for _, n := range uitest.Elements(uitest.Parse(t, gallery(t))) {
		if value, ok := uitest.Attr(n, "aria-current"); ok {
			if value != "page" {
				t.Errorf("aria-current = %q", value)
			}
			current = append(current, uitest.Text(n))
		}
	}
	if got := strings.Join(current, "|"); got != "Dead letters 1,204 waiting|Dead letters|5" {
		t.Errorf("current: %s", got)
	}
}

func TestLayoutAsksForHashedAssets(t *testing.T) {
	t.Parallel()
	p := ui.Page{Title: "T", Asset: func(name string) string { return "/static/abc/" + name }}
	doc := uitest.Render(t, uitest.With(ui.Layout(p)))
	for _, name := range []string{"schakel.css", "htmx.min.js", "app.js", "icon.svg"} {
		if !strings.Contains(doc, `"/static/abc/`+name+`"`) {
			t.Errorf("%s is not asked for by its hashed address", name)
		}
	}
}

func TestHostileAddressesAreNotWritten(t *testing.T) {
	t.Parallel()
	c := ui.Link("x", "javascript:alert(1)")
	if doc := uitest.Render(t, c); strings.Contains(doc, "javascript:") {
		t.Errorf("a script address is written: %s", doc)
	}
}
