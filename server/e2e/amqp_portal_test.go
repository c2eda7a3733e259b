package e2e

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"testing"

	"schakel/server/trial"
	"schakel/store"
)

// messages lists messages of a program.
func messages(t *testing.T, s *trial.Program, f store.AMQPFilter) (rows []store.AMQPMessage) {
	t.Helper()
	s.Open(t, func(db *store.DB) {
		var err error
		rows, _, err = db.AMQPMessages(t.Context(), f)
		trial.Must(t, err)
	})
	return rows
}

// administrator is a browser in which the administrator of a program is logged in.
type administrator struct {
	*http.Client
	base string
}

func newAdministrator(t *testing.T, s *trial.Program) administrator {
	t.Helper()
	browser := *s.Client
	browser.Jar = trial.Must1[http.CookieJar](t)(cookiejar.New(nil))
	a := administrator{&browser, s.Base}
	answer, err := browser.PostForm(s.Base+"/login", url.Values{"email": {s.Own.Email}, "password": {trial.Password}})
	trial.Must(t, err)
	_ = answer.Body.Close()
	return a
}

// get gives a page.
func (a administrator) get(t *testing.T, path string) string {
	t.Helper()
	status, body, err := trial.Get(a.Client, a.base+path)
	trial.Must(t, err)
	if status != http.StatusOK {
		t.Fatalf("%s: %d %s", path, status, body)
	}
	return body
}

// post presses a button.
func (a administrator) post(t *testing.T, path string) {
	t.Helper()
	answer, err := a.PostForm(a.base+path, url.Values{})
	trial.Must(t, err)
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", path, answer.Status)
	}
}
