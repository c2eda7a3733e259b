package event

import (
	"testing"
	"time"
)

// Rules: CE-09.
func TestURI(t *testing.T) {
	t.Parallel()
	tests := []struct {
		value               string
		reference, absolute bool
	}{
		{"urn:nld:oin:00000001823288444000:systeem:BRP-component", true, true},
		{"urn:nld:kvknr:09220932.burgerzakensysteem", true, true},
		{"urn:nld:gemeente-Bergen%20%28L%29.burgerzaken", true, true},
		{"https://example.nl:8443/a;b/c?d=e/f#g?h", true, true},
		{"https://u:p@example.nl", true, true},
		{"http://[2001:db8::1]:80/", true, true},
		{"http://[v7.a:b]/", true, true},
		{"file:///etc", true, true},
		{"mailto:a@b.nl", true, true},
		{"a:", true, true},
		{"#fragment", true, false},
		{"?query", true, false},
		{"/path", true, false},
		{"//authority/path", true, false},
		{"a/b:c", true, false},
		{"1a/b", true, false},
		{"%41", true, false},
		{"(a)", true, false},
		{"", true, false},
		{"1a:b", false, false},
		{":a", false, false},
		{"%41:b", false, false},
		{"a b", false, false},
		{"a%2", false, false},
		{"a%zz", false, false},
		{"a#b#c", false, false},
		{"a<b>", false, false},
		{`a"b`, false, false},
		{`a\b`, false, false},
		{"a^b", false, false},
		{"{a}", false, false},
		{"https://example.nl:port/", false, false},
		{"https://a[b/", false, false},
		{"http://[::1", false, false},
		{"http://[fe80::1%25eth0]/", false, false},
		{"http://[1.2.3.4]/", false, false},
		{"http://a@b@c/", false, false},
		{"https://é.nl/", false, false},
	}
	for _, test := range tests {
		t.Run("CE-09 "+test.value, func(t *testing.T) {
			t.Parallel()
			if isReference(test.value) != test.reference || isURI(test.value) != test.absolute {
				t.Errorf("reference %v, absolute %v", isReference(test.value), isURI(test.value))
			}
		})
	}
}

// Rules: CE-20.
func TestTime(t *testing.T) {
	t.Parallel()
	accepted := map[string]time.Time{
		"2018-04-05T17:31:00Z":            time.Date(2018, 4, 5, 17, 31, 0, 0, time.UTC),
		"2018-04-05t17:31:00z":            time.Date(2018, 4, 5, 17, 31, 0, 0, time.UTC),
		"2018-04-05T18:31:00+01:00":       time.Date(2018, 4, 5, 17, 31, 0, 0, time.UTC),
		"2018-04-05T16:31:00-01:00":       time.Date(2018, 4, 5, 17, 31, 0, 0, time.UTC),
		"2018-04-05T17:31:00-00:00":       time.Date(2018, 4, 5, 17, 31, 0, 0, time.UTC),
		"2018-04-05T17:31:00.123456789Z":  time.Date(2018, 4, 5, 17, 31, 0, 123456789, time.UTC),
		"2018-04-05T17:31:00.1234567891Z": time.Date(2018, 4, 5, 17, 31, 0, 123456789, time.UTC),
		"2024-02-29T00:00:00Z":            time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC),
		"2016-12-31T23:59:60Z":            time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC),
		"2017-01-01T00:59:60.5+01:00":     time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	for value, want := range accepted {
		if got, err := ParseTime(value); err != nil || !got.Equal(want) {
			t.Errorf("CE-20 %s: %v, %v", value, got, err)
		}
	}
	for _, value := range []string{
		"", "lunchtime", "2018-04-05", "2018-04-05T18:31Z", "2018-04-05T18:31:00", "2018-04-05T18:31:00X",
		"2018-04-05T18:31:00+25:00", "2018-04-05T18:31:00+24:00", "2018-04-05T18:31:00+01:60", "2018-04-05T18:31:00+xx:00",
		"2018-04-05T18:31:00+05", "2018-04-05T18:31:00+0500", "2018-04-05 18:31:00Z", "2018-04-05T18:31:00,5Z",
		"2018-04-05T18:31:00.Z", "2018-04-05T24:00:00Z", "2018-04-05T23:60:00Z", "2018-04-05T18:31:60Z", "2018-04-05T18:31:61Z",
		"2018-13-05T18:31:00Z", "2018-00-05T18:31:00Z", "2018-04-31T18:31:00Z", "2018-04-00T18:31:00Z", "2023-02-29T00:00:00Z",
		"1900-02-29T00:00:00Z", "18-04-05T18:31:00.00Z", "+018-04-05T18:31:00Z", "2018-04-05T18:31:00ZZ", "2018-04-05T18:31:00.5",
		"2016-12-31T23:59:60+01:00", "2018-4-05T018:31:00Z",
	} {
		if _, err := ParseTime(value); err == nil {
			t.Errorf("CE-20 %s accepted", value)
		}
	}
}

// Rules: CE-17.
func TestMediaType(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{
		"application/json":                     true,
		"application/vnd.x.y+json;v=1":         true,
		"text/plain; charset=utf-8 ; a=b":      true,
		`multipart/mixed; boundary="a; \"b"`:   true,
		"X-Custom/*":                           true,
		"json":                                 false,
		"application/":                         false,
		"/json":                                false,
		"application/json;":                    false,
		"application/json; charset":            false,
		"application/json; charset=":           false,
		"application/json charset=utf-8":       false,
		"application/json, text/plain":         false,
		"application/json; charset=\"utf-8":    false,
		"application/json; charset=\"\\\x01\"": false,
		"application/js on":                    false,
		" application/json":                    false,
		"application/jsön":                     false,
		"application/json\x00":                 false,
	} {
		if isMediaType(value) != want {
			t.Errorf("CE-17 %q: want %v", value, want)
		}
	}
}
