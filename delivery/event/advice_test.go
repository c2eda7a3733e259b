package event

import (
	"slices"
	"strings"
	"testing"
)

// Rules: CE-08, CE-09, CE-12, CE-13, EDU-26.
func TestAdvice(t *testing.T) {
	t.Parallel()
	const oin = "urn:nld:oin:00000001823288444000:systeem:BRP"
	tests := []struct {
		name   string
		policy Policy
		add    map[string]string
		want   []string
	}{
		{"nothing to say", Policy{Source: SourceOIN}, nil, nil},
		{"CE-02 21 characters", Policy{}, map[string]string{"abcdefghijklmnopqrstu": "x"}, []string{"abcdefghijklmnopqrstu attribute-name-length"}},
		{"CE-08 other URN", Policy{}, map[string]string{"source": "urn:isbn:1"}, []string{"source source-not-urn-nld"}},
		{"CE-08 any", Policy{Source: SourceAny}, map[string]string{"source": "#a"}, nil},
		{"CE-08 KvK number", Policy{}, map[string]string{"source": "urn:nld:kvknr:09220932.burgerzaken"}, nil},
		{"CE-08 KvK number where an OIN is wanted", Policy{Source: SourceOIN}, map[string]string{"source": "urn:nld:kvknr:09220932.burgerzaken"}, []string{"source source-oin"}},
		{"CE-08 OIN of 11 digits", Policy{}, map[string]string{"source": "urn:nld:oin:00000001823:systeem:A"}, []string{"source source-oin"}},
		{"CE-09 web address", Policy{Source: SourceAny}, map[string]string{"source": "HTTPS://example.nl/1"}, []string{"source source-location"}},
		{"CE-12 one word", Policy{}, map[string]string{"type": "verhuisd"}, []string{"type type-not-reverse-dns"}},
		{"CE-12 empty label", Policy{}, map[string]string{"type": "nl..brp"}, []string{"type type-not-reverse-dns"}},
		{"CE-12 space", Policy{}, map[string]string{"type": "nl.brp verhuisd"}, []string{"type type-not-reverse-dns"}},
		{"CE-12 any", Policy{AnyType: true}, map[string]string{"type": "verhuisd.v1.2"}, nil},
		{"CE-13 one version", Policy{}, map[string]string{"type": "nl.brp.persoon-verhuisd.v12"}, nil},
		{"CE-13 two versions", Policy{}, map[string]string{"type": "nl.brp.v1.verhuisd.v2"}, []string{"type type-version"}},
		{"CE-13 v1.2", Policy{}, map[string]string{"type": "nl.brp.verhuisd.v1.2"}, []string{"type type-version"}},
		{"CE-13 no prefix", Policy{}, map[string]string{"type": "nl.brp.verhuisd.2"}, []string{"type type-version"}},
		{"CE-18 fragment", Policy{}, map[string]string{"dataschema": "https://example.nl/a#b"}, []string{"dataschema dataschema-fragment"}},
		{"CE-22 sequence", Policy{}, map[string]string{"sequence": "one", "sequencetype": "integer"}, []string{"sequence sequence-not-integer"}},
		{"CE-22 sequence of its own kind", Policy{}, map[string]string{"sequence": "one"}, nil},
		{"CE-24 expirytime", Policy{}, map[string]string{"expirytime": "soon"}, []string{"expirytime extension-time"}},
		{"EDU-26 BSN", Policy{}, map[string]string{"subject": "leerling/123456782"}, []string{"subject sensitive-bsn"}},
		{"EDU-26 nine digits that fail the test of eleven", Policy{}, map[string]string{"subject": "123456789"}, nil},
		{"EDU-26 part of a longer word", Policy{}, map[string]string{"subject": "1123456782 a123456782"}, nil},
		{"EDU-26 e-mail", Policy{}, map[string]string{"subject": "voor jan.jansen@school.example.nl."}, []string{"subject sensitive-email"}},
		{"EDU-26 e-mail in a source", Policy{}, map[string]string{"source": oin + ":jan%40school.nl"}, []string{"source sensitive-email"}},
		{"EDU-26 no e-mail", Policy{}, map[string]string{"subject": "@school.nl a@b c@1.2 d@"}, nil},
		{"EDU-26 allowed", Policy{AllowPrivate: true}, map[string]string{"subject": "123456782 a@b.nl"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			attributes := map[string]string{"id": "1", "source": oin, "type": "nl.brp.persoon-verhuisd"}
			for name, value := range test.add {
				attributes[name] = value
			}
			e, err := New(attributes, nil, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			problems := e.Advice(test.policy)
			if got := codes(problems); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			for _, problem := range problems {
				if strings.Contains(problem.Detail, "123456782") || strings.Contains(problem.Detail, "jansen") {
					t.Error("advice repeats a value")
				}
			}
		})
	}
}
