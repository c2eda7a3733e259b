package main

import (
	"slices"
	"strings"
	"testing"
)

func TestSecurityContact(t *testing.T) {
	t.Parallel()
	got, err := OrganisationFlags{
		SecurityContact: []string{"security@example.nl", "https://example.nl/report", "tel:+31-20-1234567", "mailto:cert@example.nl"},
		SecurityPolicy:  "https://example.nl/disclosure", Language: "nl",
	}.security()
	want := []string{"mailto:security@example.nl", "https://example.nl/report", "tel:+31-20-1234567", "mailto:cert@example.nl"}
	if err != nil || !slices.Equal(got.Addresses, want) || got.Policy != "https://example.nl/disclosure" || !slices.Equal(got.Languages, []string{"nl", "en"}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := (OrganisationFlags{Language: "en"}).security(); got != nil || err != nil {
		t.Errorf("nobody is named: %+v, %v", got, err)
	}
	if got, err := (OrganisationFlags{SecurityContact: []string{"a@example.nl"}, Language: "en"}).security(); err != nil || !slices.Equal(got.Languages, []string{"en"}) {
		t.Errorf("English: %+v, %v", got, err)
	}
	for _, f := range []OrganisationFlags{
		{SecurityPolicy: "https://example.nl/disclosure"},
		{SecurityContact: []string{"a@example.nl"}, SecurityPolicy: "http://example.nl/"},
		{SecurityContact: []string{"example.nl"}},
		{SecurityContact: []string{"http://example.nl/report"}},
		{SecurityContact: []string{"tel:"}},
		{SecurityContact: []string{"mailto:nobody"}},
		{SecurityContact: []string{"https://example.nl/\nContact: mailto:eve@example.com"}},
		{SecurityContact: []string{""}},
	} {
		err := f.CheckFlags()
		if err == nil || !strings.Contains(err.Error(), "--security-") {
			t.Errorf("%q, %q: %v", f.SecurityContact, f.SecurityPolicy, err)
		}
	}
}
