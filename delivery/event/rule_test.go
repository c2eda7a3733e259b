package event

import (
	"strings"
	"testing"
	"time"
)

// Members that are added to a minimal event, and what must be said of them.
//
// Rules: EDU-03, CE-02, CE-03, CE-04, CE-17, CE-18, CE-19, CE-20, CE-21, CE-22, CE-42, CE-43, CE-44.
func TestRulesRefuse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, members, attribute, code string }{
		{"CE-02 capital", `"MyExtension":"x"`, "MyExtension", CodeName},
		{"CE-02 case variant of id", `"ID":"x"`, "ID", CodeName},
		{"CE-02 punctuation", `"my.extension":"x"`, "my.extension", CodeName},
		{"CE-02 hyphen", `"my-extension":"x"`, "my-extension", CodeName},
		{"CE-02 underscore", `"data_base32":"x"`, "data_base32", CodeName},
		{"CE-02 letter outside ASCII", `"é":"x"`, "é", CodeName},
		{"CE-02 empty name", `"":"x"`, "", CodeName},
		{"CE-02 name over the limit", `"a123456789012345678901234567890123456789012345678901234567890123456789":1`, "a123456789012345678901234567890123456789012345678901234567890123…", CodeNameLength},
		{"CE-03 fraction", `"ext":1.5`, "ext", CodeInteger},
		{"CE-03 fraction of zero", `"ext":1.0`, "ext", CodeInteger},
		{"CE-03 exponent", `"ext":1e2`, "ext", CodeInteger},
		{"CE-03 over int32", `"ext":2147483648`, "ext", CodeInteger},
		{"CE-03 under int32", `"ext":-2147483649`, "ext", CodeInteger},
		{"CE-03 huge", `"ext":99999999999999999999999999`, "ext", CodeInteger},
		{"CE-03 object", `"ext":{"a":1}`, "ext", CodeType},
		{"CE-03 array", `"ext":[1,2]`, "ext", CodeType},
		{"CE-03 number as subject", `"subject":5`, "subject", CodeType},
		{"CE-03 boolean as time", `"time":true`, "time", CodeType},
		{"CE-03 object as datacontenttype", `"datacontenttype":{},"data":5`, "datacontenttype", CodeType},
		{"CE-04 lone surrogate", `"ext":"\uDEAD"`, "ext", CodeCharacters},
		{"CE-04 high surrogate at the end", `"ext":"\uD800"`, "ext", CodeCharacters},
		{"CE-04 two high surrogates", `"ext":"\uD800\uD800"`, "ext", CodeCharacters},
		{"CE-04 high surrogate and other escape", `"ext":"\uD800\n"`, "ext", CodeCharacters},
		{"CE-04 escaped NUL", `"ext":"a\u0000"`, "ext", CodeCharacters},
		{"CE-04 escaped line feed", `"ext":"a\nb"`, "ext", CodeCharacters},
		{"CE-04 DEL", "\"ext\":\"a\x7f\"", "ext", CodeCharacters},
		{"CE-04 C1 control", "\"ext\":\"\u0085\"", "ext", CodeCharacters},
		{"CE-04 noncharacter", "\"ext\":\"\uFFFE\"", "ext", CodeCharacters},
		{"CE-04 noncharacter escaped", `"ext":"\uFFFF"`, "ext", CodeCharacters},
		{"CE-04 noncharacter in the Arabic block", "\"ext\":\"\uFDD0\"", "ext", CodeCharacters},
		{"CE-04 noncharacter of a high plane", "\"ext\":\"\U0010FFFF\"", "ext", CodeCharacters},
		{"CE-04 noncharacter as surrogate pair", `"ext":"\uD83F\uDFFE"`, "ext", CodeCharacters},
		{"CE-17 no media type", `"datacontenttype":"xyz","data":"x"`, "datacontenttype", CodeMediaType},
		{"CE-17 empty", `"datacontenttype":"","data":{}`, "datacontenttype", CodeEmpty},
		{"CE-17 parameter without value", `"datacontenttype":"text/plain; charset"`, "datacontenttype", CodeMediaType},
		{"CE-18 empty", `"dataschema":""`, "dataschema", CodeEmpty},
		{"CE-18 relative", `"dataschema":"/schemas/1"`, "dataschema", CodeURI},
		{"CE-18 without scheme", `"dataschema":"example.nl/schemas/1"`, "dataschema", CodeURI},
		{"CE-19 empty", `"subject":""`, "subject", CodeEmpty},
		{"CE-20 garbage", `"time":"lunchtime"`, "time", CodeTime},
		{"CE-20 empty", `"time":""`, "time", CodeEmpty},
		{"CE-20 no seconds", `"time":"2018-04-05T18:31Z"`, "time", CodeTime},
		{"CE-20 hour 24", `"time":"2018-04-05T24:00:00Z"`, "time", CodeTime},
		{"CE-20 comma", `"time":"2018-04-05T18:31:00,5Z"`, "time", CodeTime},
		{"CE-21 space in dataref", `"dataref":"https://example.nl/a b"`, "dataref", CodeURIReference},
		{"CE-21 empty dataref", `"dataref":""`, "dataref", CodeEmpty},
		{"CE-22 empty sequence", `"sequence":""`, "sequence", CodeEmpty},
		{"CE-22 number as sequence", `"sequence":5`, "sequence", CodeType},
		{"CE-42 data and data_base64", `"data":"text","data_base64":"eyAieHl6IjogMTIzIH0="`, "data_base64", CodeDataTwice},
		{"CE-42 null data and data_base64", `"data":null,"data_base64":"TWE="`, "data_base64", CodeDataTwice},
		{"CE-42 number", `"data_base64":5`, "data_base64", CodeDataBase64},
		{"CE-42 object", `"data_base64":{}`, "data_base64", CodeDataBase64},
		{"CE-42 boolean", `"data_base64":true`, "data_base64", CodeDataBase64},
		{"CE-42 no padding", `"data_base64":"TWE"`, "data_base64", CodeDataBase64},
		{"CE-42 URL alphabet", `"data_base64":"-_-_"`, "data_base64", CodeDataBase64},
		{"CE-42 line break", `"data_base64":"TWFu\nTWFu"`, "data_base64", CodeDataBase64},
		{"CE-42 loose bits", `"data_base64":"TWF="`, "data_base64", CodeDataBase64},
		{"CE-43 object under text/xml", `"datacontenttype":"text/xml","data":{"a":1}`, "data", CodeDataNotText},
		{"CE-43 null under text/xml", `"datacontenttype":"text/xml","data":null`, "data", CodeDataNotText},
		{"CE-43 object first, text/xml after it", `"data":{"a":1},"datacontenttype":"text/xml"`, "data", CodeDataNotText},
		{"CE-43 half a character in text", `"datacontenttype":"text/plain","data":"\uD800"`, "data", CodeCharacters},
		{"CE-43 bytes that are not the JSON they are called", `"datacontenttype":"application/json","data_base64":"TWE="`, "data_base64", CodeDataNotJSON},
		{"CE-44 duplicate attribute", `"ext":"a","ext":"a"`, "ext", CodeDuplicate},
		{"CE-44 duplicate of a required attribute", `"id":"1"`, "id", CodeDuplicate},
		{"CE-44 duplicate by escapes", `"\u0069d":"2"`, "id", CodeDuplicate},
		{"CE-44 duplicate of a null", `"ext":null,"ext":"a"`, "ext", CodeDuplicate},
		{"CE-44 duplicate data", `"data":1,"data":2`, "data", CodeDuplicate},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseJSON([]byte(with(test.members)), Limits{})
			wantProblem(t, err, test.attribute, test.code)
		})
	}
}

// Rules: CE-02, CE-03, CE-04, CE-17, CE-18, CE-20, CE-21, CE-22, CE-23, CE-24.
func TestRulesAccept(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, members, attribute, value string }{
		{"CE-02 21 characters", `"abcdefghijklmnopqrstu":"x"`, "abcdefghijklmnopqrstu", "x"},
		{"CE-02 digits first", `"1a":"x"`, "1a", "x"},
		{"CE-03 largest integer", `"ext":2147483647`, "ext", "2147483647"},
		{"CE-03 smallest integer", `"ext":-2147483648`, "ext", "-2147483648"},
		{"CE-03 boolean", `"ext":false`, "ext", "false"},
		{"CE-03 empty extension", `"ext":""`, "ext", ""},
		{"CE-04 surrogate pair", `"ext":"\uD83D\uDE00"`, "ext", "😀"},
		{"CE-04 pair D800 DEAD", `"ext":"\uD800\uDEAD"`, "ext", "\U000102AD"},
		{"CE-04 escapes", `"ext":"\"\\\/\u20ac"`, "ext", `"\/€`},
		{"CE-04 replacement character", "\"ext\":\"\uFFFD\"", "ext", "\uFFFD"},
		{"CE-17 parameters", `"datacontenttype":"text/plain; charset=\"utf-8\"","data":"x"`, "datacontenttype", `text/plain; charset="utf-8"`},
		{"CE-18 absolute", `"dataschema":"urn:example:schema"`, "dataschema", "urn:example:schema"},
		{"CE-20 nanoseconds", `"time":"2018-04-05T17:31:00.123456789Z"`, "time", "2018-04-05T17:31:00.123456789Z"},
		{"CE-20 lower case", `"time":"2018-04-05t17:31:00z"`, "time", "2018-04-05t17:31:00z"},
		{"CE-21 relative dataref", `"dataref":"../a?b#c"`, "dataref", "../a?b#c"},
		{"CE-22 sequence", `"sequence":"-2147483648","sequencetype":"Integer"`, "sequence", "-2147483648"},
		{"CE-23 unknown extension", `"schoolyear":2026`, "schoolyear", "2026"},
		{"CE-24 traceparent", `"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`, "traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := accept(t, with(test.members))
			if value, ok := e.Extension(test.attribute); !ok || value != test.value {
				t.Errorf("got %q, %v, want %q", value, ok, test.value)
			}
		})
	}
}

// Rules: CE-01, CE-09, CE-11, CE-41.
func TestRequiredAttributes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, body, attribute, code string }{
		{"CE-01 no id", `{"specversion":"1.0","source":"a","type":"b.c"}`, "id", CodeMissing},
		{"CE-01 empty id", `{"specversion":"1.0","id":"","source":"a","type":"b.c"}`, "id", CodeEmpty},
		{"CE-01 empty type", `{"specversion":"1.0","id":"1","source":"a","type":""}`, "type", CodeEmpty},
		{"CE-03 number as id", `{"specversion":"1.0","id":25,"source":"a","type":"b.c"}`, "id", CodeType},
		{"CE-03 object as id", `{"specversion":"1.0","id":{"x":"y"},"source":"a","type":"b.c"}`, "id", CodeType},
		{"CE-04 lone surrogate in id", `{"specversion":"1.0","id":"\uDEAD","source":"a","type":"b.c"}`, "id", CodeCharacters},
		{"CE-05 id over 1,024 bytes", `{"specversion":"1.0","source":"a","type":"b.c","id":"` + strings.Repeat("é", 513) + `"}`, "id", CodeLength},
		{"CE-05 source over 1,024 bytes", `{"specversion":"1.0","id":"1","type":"b.c","source":"` + strings.Repeat("a", 1025) + `"}`, "source", CodeLength},
		{"CE-09 space", `{"specversion":"1.0","id":"1","source":"a b","type":"b.c"}`, "source", CodeURIReference},
		{"CE-09 percent", `{"specversion":"1.0","id":"1","source":"a%2","type":"b.c"}`, "source", CodeURIReference},
		{"CE-09 empty", `{"specversion":"1.0","id":"1","source":"","type":"b.c"}`, "source", CodeEmpty},
		{"CE-11 1.0.1", `{"specversion":"1.0.1","id":"1","source":"a","type":"b.c"}`, "specversion", CodeSpecVersion},
		{"CE-11 1.0.2", `{"specversion":"1.0.2","id":"1","source":"a","type":"b.c"}`, "specversion", CodeSpecVersion},
		{"CE-11 0.3", `{"specversion":"0.3","id":"1","source":"a","type":"b.c"}`, "specversion", CodeSpecVersion},
		{"CE-11 number", `{"specversion":1.0,"id":"1","source":"a","type":"b.c"}`, "specversion", CodeType},
		{"CE-11 absent", `{"id":"1","source":"a","type":"b.c"}`, "specversion", CodeMissing},
		{"CE-41 null id", `{"specversion":"1.0","id":null,"source":"a","type":"b.c"}`, "id", CodeMissing},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseJSON([]byte(test.body), Limits{})
			problem := wantProblem(t, err, test.attribute, test.code)
			if problem.Pointer != "/"+test.attribute || problem.Index != -1 || problem.Line != 1 || problem.Column < 1 {
				t.Errorf("place is %+v", problem)
			}
		})
	}
}

// Rules: CE-09.
func TestURI(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
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
	} {
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

// These vectors cover the same cases, under the same names, as the format
// tests of the CloudEvents conformance project; the events are ours.

func vector(members ...string) string { return "{" + strings.Join(members, ", ") + "}" }

const (
	vSpec   = `"specversion": "1.0"`
	vID     = `"id": "e-1"`
	vType   = `"type": "nl.example.test"`
	vSource = `"source": "https://example.nl"`
)

func validVectors() map[string]string {
	core := func(more ...string) string { return vector(append([]string{vSpec, vID, vType, vSource}, more...)...) }
	return map[string]string{
		"validMinimal":                            core(),
		"validMinimalWithNullForOptional":         core(`"datacontenttype": null`, `"dataschema": null`, `"subject": null`, `"time": null`),
		"validAllCoreAttributes":                  core(`"datacontenttype": "text/plain"`, `"dataschema": "https://example.nl/schema"`, `"subject": "tests"`, `"time": "2026-04-05T17:31:00Z"`),
		"validMinimalWithTimeUtc":                 core(`"time": "2026-04-05T17:31:00Z"`),
		"validMinimalWithTimeToNanosecondsUtc":    core(`"time": "2026-04-05T17:31:00.000000000Z"`),
		"validMinimalWithTimeUsingPositiveOffset": core(`"time": "2026-04-05T18:31:00+01:00"`),
		"validMinimalWithTimeUsingNegativeOffset": core(`"time": "2026-04-05T16:31:00-01:00"`),
		"validRelativeSource":                     vector(vSpec, vID, vType, `"source": "#fragment"`),
		"validSimpleTextData":                     core(`"datacontenttype": "text/plain"`, `"data": "Simple text"`),
		"validAllExtensionTypes": core(`"extinteger": 10`, `"extboolean": true`, `"extstring": "text"`, `"exturi": "https://example.nl"`,
			`"exturiref": "//authority/path"`, `"exttimestamp": "2026-03-31T15:12:00Z"`, `"extbinary": "TWE="`),
	}
}

func invalidVectors() map[string]string {
	core := func(more ...string) string { return vector(append([]string{vSpec, vID, vType, vSource}, more...)...) }
	return map[string]string{
		"invalidNoSpecVersion":             vector(vID, vType, vSource),
		"invalidNoId":                      vector(vSpec, vType, vSource),
		"invalidNoType":                    vector(vSpec, vID, vSource),
		"invalidNoSource":                  vector(vSpec, vID, vType),
		"invalidTimeGarbage":               core(`"time": "lunchtime"`),
		"invalidTimeToMinute":              core(`"time": "2026-04-05T18:31Z"`),
		"invalidTimeOffsetX":               core(`"time": "2026-04-05T18:31:00X"`),
		"invalidTimeOffsetOutOfRange":      core(`"time": "2026-04-05T18:31:00+25:00"`),
		"invalidTimeOffsetNonInteger":      core(`"time": "2026-04-05T18:31:00+xx:00"`),
		"invalidTimeOffsetHourOnly":        core(`"time": "2026-04-05T18:31:00+05"`),
		"invalidEmptyId":                   vector(vSpec, `"id": ""`, vType, vSource),
		"invalidEmptyType":                 vector(vSpec, vID, `"type": ""`, vSource),
		"invalidEmptySource":               vector(vSpec, vID, vType, `"source": ""`),
		"invalidEmptySpecVersion":          vector(`"specversion": ""`, vID, vType, vSource),
		"invalidUnknownSpecVersion":        vector(`"specversion": "0.9"`, vID, vType, vSource),
		"invalidNonRfc2046DataContentType": core(`"datacontenttype": "xyz"`),
		"invalidEmptyDataContentType":      core(`"datacontenttype": ""`),
		"invalidEmptyDataSchema":           core(`"dataschema": ""`),
		"invalidEmptySubject":              core(`"subject": ""`),
		"invalidNumericId":                 vector(vSpec, `"id": 25`, vType, vSource),
		"invalidObjectId":                  vector(vSpec, `"id": {"a": "b"}`, vType, vSource),
		"invalidCapitalizedExtension":      core(`"MyExtension": "bad"`),
		"invalidPunctuatedExtension":       core(`"my.extension": "bad"`),
		"invalidNonIntegerExtensionValue":  core(`"myextension": 1.5`),
		"invalidBothDataAndDataBase64":     core(`"data": "text"`, `"data_base64": "e30="`),
	}
}

// Rules: EDU-03, CE-01, CE-02, CE-03.
func TestVectors(t *testing.T) {
	t.Parallel()
	for name, body := range validVectors() {
		if _, err := ParseJSON([]byte(body), Limits{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, body := range invalidVectors() {
		_, err := ParseJSON([]byte(body), Limits{})
		if problems := problemsOf(t, err); len(problems) != 1 || problems[0].Attribute == "" {
			t.Errorf("%s: %+v", name, problems)
		}
	}
}

// Rules: EDU-03, CE-56.
func TestBatchVectors(t *testing.T) {
	t.Parallel()
	valid := validVectors()
	minimal, all, extensions := valid["validMinimal"], valid["validAllCoreAttributes"], valid["validAllExtensionTypes"]
	for name, events := range map[string][]string{
		"validBatchEmpty":                       {},
		"validBatchMinimal":                     {minimal},
		"validBatchMinimal2":                    {minimal, minimal},
		"validBatchMinimalAndAllCore":           {minimal, all},
		"validBatchMinimalAndAllExtensionTypes": {minimal, extensions},
	} {
		got, err := ParseBatch([]byte("["+strings.Join(events, ",")+"]"), Limits{})
		if err != nil || len(got) != len(events) {
			t.Errorf("%s: %d events, %v", name, len(got), err)
		}
	}
	invalid := invalidVectors()
	for name, batch := range map[string]string{
		"invalidBatchMixedSpecVersions":           "[" + minimal + "," + invalid["invalidUnknownSpecVersion"] + "]",
		"invalidBatchContainingInvalidCloudEvent": "[" + invalid["invalidNoId"] + "]",
		"invalidBatchContainingNonObject":         `["not an object",` + minimal + "]",
	} {
		_, err := ParseBatch([]byte(batch), Limits{})
		if problems := problemsOf(t, err); len(problems) != 1 || problems[0].Index < 0 {
			t.Errorf("%s: %+v", name, problems)
		}
	}
}
