package oinregister

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

const (
	oin   = "00000001003214345000"
	other = "00000003123456780000"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		list string
		want map[string]string
	}{
		"commas":     {"oin,name\n" + oin + ",Kadaster\n" + other + ",\"Noord, school\"\n", map[string]string{oin: "Kadaster", other: "Noord, school"}},
		"semicolons": {"\ufeffOIN-nummer;KvK;Naam organisatie\r\n" + oin + ";12345678;Kadaster\r\n", map[string]string{oin: "Kadaster"}},
		"tabs":       {"naam\toin\nKadaster\t" + oin + "\n\t" + other + "\nshort\n", map[string]string{oin: "Kadaster"}},
		"an object":  {`{"` + oin + `": "Kadaster", "7": "short"}`, map[string]string{oin: "Kadaster"}},
		"a list":     {`[{"oin": "` + oin + `", "naam": " Kadaster  BV ", "kvk": 7}]`, map[string]string{oin: "Kadaster BV"}},
		"no columns": {"a,b\n1,2\n", nil},
		"no rows":    {"oin,name\n", nil},
		"empty":      {"", nil},
		"not JSON":   {"[{]", nil},
		"numbers":    {`{"` + oin + `": 7}`, nil},
	} {
		got, err := Parse([]byte(test.list))
		if (err == nil) != (test.want != nil) || err == nil && len(got) != len(test.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		for key, want := range test.want {
			if got[key] != want {
				t.Errorf("%s: %s is %q", name, key, got[key])
			}
		}
	}
}

type doer func(*http.Request) (*http.Response, error)

// Do implements registry.Doer.
func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

// A list stays for an hour, and beyond that while it cannot be read again.
func TestRegister(t *testing.T) {
	t.Parallel()
	now, asked, down := time.Now(), 0, true
	r := New("https://register.example/oin.csv", doer(func(*http.Request) (*http.Response, error) {
		asked++
		if down {
			return nil, errors.New("no route")
		}
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader([]byte("oin,name\n" + oin + ",Kadaster\n")))}, nil
	}), func() time.Time { return now })
	want := func(name string, known, fails bool, most int) {
		t.Helper()
		got, there, err := r.OrganisationOf(t.Context(), oin)
		if got != name || there != known || (err != nil) != fails || asked != most {
			t.Errorf("%q, %v, %v after %d requests", got, there, err, asked)
		}
	}
	want("", false, true, 1)
	want("", false, true, 1)
	now, down = now.Add(retry), false
	want("Kadaster", true, false, 2)
	now = now.Add(freshFor - time.Second)
	want("Kadaster", true, false, 2)
	now, down = now.Add(time.Minute), true
	want("Kadaster", true, false, 3)
	if _, known, err := r.OrganisationOf(t.Context(), other); known || err != nil {
		t.Error(known, err)
	}

	file := filepath.Join(t.TempDir(), "oin.json")
	if err := os.WriteFile(file, []byte(`{"`+oin+`": "Kadaster"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if name, known, err := New(file, nil, time.Now).OrganisationOf(t.Context(), oin); name != "Kadaster" || !known || err != nil {
		t.Error(name, known, err)
	}
}

// While a list is read again from a register that does not answer, others go on with the one before.
func TestRegisterThatHangs(t *testing.T) {
	t.Parallel()
	now, hangs, goOn := time.Now(), make(chan bool), make(chan bool)
	hang := false
	r := New("https://register.example/oin.csv", doer(func(*http.Request) (*http.Response, error) {
		if hang {
			close(hangs)
			<-goOn
		}
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewBufferString("oin,name\n" + oin + ",Kadaster\n"))}, nil
	}), func() time.Time { return now })
	ask := func() {
		if name, known, err := r.OrganisationOf(t.Context(), oin); name != "Kadaster" || !known || err != nil {
			t.Errorf("%q, %t, %v", name, known, err)
		}
	}
	ask()
	now, hang = now.Add(2*freshFor), true
	first := make(chan bool)
	go func() { defer close(first); ask() }()
	<-hangs
	ask()
	close(goOn)
	<-first
}
