package event

import (
	"strings"
	"testing"
)

// Rules: CE-30, CE-42, CE-43.
func TestData(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, members string
		kind          DataKind
		data          string
	}{
		{"CE-30 none", ``, DataNone, ""},
		{"CE-30 XML", `"datacontenttype":"application/xml","data":"<a>\u20ac</a>"`, DataText, "<a>€</a>"},
		{"CE-42 base64", `"datacontenttype":"application/octet-stream","data_base64":"TWE="`, DataBinary, "Ma"},
		{"CE-42 base64 with escaped slash", `"datacontenttype":"application/octet-stream","data_base64":"\/\/\/\/"`, DataBinary, "\xFF\xFF\xFF"},
		{"CE-42 null data_base64 is unset", `"data":{"a":1},"data_base64":null`, DataJSON, `{"a":1}`},
		{"CE-42 JSON in base64", `"datacontenttype":"application/json","data_base64":"eyJhIjoxfQ=="`, DataJSON, `{"a":1}`},
		{"CE-42 text in base64", `"datacontenttype":"text/plain","data_base64":"TWE="`, DataText, "Ma"},
		{"CE-42 Latin-1 text in base64", `"datacontenttype":"text/plain; charset=iso-8859-1","data_base64":"6Q=="`, DataBinary, "\xE9"},
		{"CE-42 bytes of no known type", `"data_base64":"TWE="`, DataBinary, "Ma"},
		{"CE-42 no bytes", `"datacontenttype":"image/png","data_base64":""`, DataBinary, ""},
		{"CE-43 null value", `"data":null`, DataJSON, "null"},
		{"CE-43 number", `"data":1.50e+400`, DataJSON, "1.50e+400"},
		{"CE-43 string is JSON", `"data":"te\u0078t"`, DataJSON, `"te\u0078t"`},
		{"CE-43 text/json", `"datacontenttype":"text/json","data":[1 , 2]`, DataJSON, "[1 , 2]"},
		{"CE-43 suffix", `"datacontenttype":"application/vnd.x+JSON; v=1","data":{}`, DataJSON, "{}"},
		{"CE-43 text after data", `"data":"a\nb","datacontenttype":"text/plain"`, DataText, "a\nb"},
		{"CE-43 empty text", `"datacontenttype":"text/plain","data":""`, DataText, ""},
		{"CE-43 exact bytes", `"data":{"a":123456789012345678901234567890.10,"a": "\/\ud800" , "b" :[ ] }`, DataJSON, `{"a":123456789012345678901234567890.10,"a": "\/\ud800" , "b" :[ ] }`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := accept(t, with(test.members))
			if e.DataKind != test.kind || string(e.Data) != test.data {
				t.Errorf("got %s %q, want %s %q", e.DataKind, e.Data, test.kind, test.data)
			}
			again := accept(t, string(e.AppendJSON(nil)))
			if again.DataKind != test.kind || string(again.Data) != test.data {
				t.Errorf("after a round trip: %s %q", again.DataKind, again.Data)
			}
		})
	}
}

// Rules: CE-31, CE-32.
func TestSize(t *testing.T) {
	t.Parallel()
	filled := func(size int) string {
		frame := len(with(`"data":""`))
		return with(`"data":"` + strings.Repeat("x", size-frame) + `"`)
	}
	t.Run("CE-31 exactly 64 KiB passes and goes on no larger", func(t *testing.T) {
		t.Parallel()
		e := accept(t, filled(MinEventBytes))
		out := e.AppendJSON(nil)
		if len(out) != MinEventBytes {
			t.Errorf("%d bytes go on", len(out))
		}
		accept(t, string(out))
	})
	t.Run("CE-32 one byte more", func(t *testing.T) {
		t.Parallel()
		_, err := ParseJSON([]byte(filled(MinEventBytes+1)), Limits{EventBytes: 10})
		wantTooLarge(t, err, TooLarge{"event bytes", -1, MinEventBytes, MinEventBytes + 1})
	})
	t.Run("CE-32 raised", func(t *testing.T) {
		t.Parallel()
		if _, err := ParseJSON([]byte(filled(MinEventBytes+1)), Limits{EventBytes: 1 << 20}); err != nil {
			t.Error(err)
		}
	})
	t.Run("CE-31 in a batch", func(t *testing.T) {
		t.Parallel()
		body := "[" + filled(MinEventBytes) + "," + filled(MinEventBytes) + "]"
		if _, err := ParseBatch([]byte(body), Limits{}); err != nil {
			t.Error(err)
		}
		body = "[" + filled(MinEventBytes) + "," + filled(MinEventBytes+1) + "]"
		_, err := ParseBatch([]byte(body), Limits{})
		wantTooLarge(t, err, TooLarge{"event bytes", 1, MinEventBytes, MinEventBytes + 1})
	})
	t.Run("CE-31 in binary mode with its headers", func(t *testing.T) {
		t.Parallel()
		header := ceHeader("Content-Type", "text/plain")
		room := MinEventBytes - attributeBytes(header)
		if _, err := ParseBinary(header, []byte(strings.Repeat("x", room)), Limits{}); err != nil {
			t.Error(err)
		}
		_, err := ParseBinary(header, []byte(strings.Repeat("x", room+1)), Limits{})
		wantTooLarge(t, err, TooLarge{"event bytes", -1, MinEventBytes, MinEventBytes + 1})
	})
}
