package payload

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"
)

// reference decodes data with encoding/json; ok is false when it is not one value.
func reference(data []byte) (value any, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return nil, false
	}
	_, err := decoder.Token()
	return value, err == io.EOF
}

func TestDecodePlain(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]bool{
		`{"a":[1,-2.5,0,"x é",true,false,null,{},[]]," b ":{"c":""}}`: true,
		" [ 1 , 2 ] \n":           true,
		`{"a":1,"a":2}`:           true,
		`0.0`:                     true,
		`1e3`:                     false, // left to encoding/json
		`"a\n"`:                   false,
		"\"\xff\"":                false,
		"\"\x01\"":                false,
		`01`:                      false,
		`-`:                       false,
		`1.`:                      false,
		`.5`:                      false,
		``:                        false,
		`{"a":1,}`:                false,
		`{a:1}`:                   false,
		`[1,]`:                    false,
		`[1`:                      false,
		`{} {}`:                   false,
		"1\x00":                   false,
		`nul`:                     false,
		`tru e`:                   false,
		strings.Repeat("1", 1000): false,
		strings.Repeat("[", 65) + strings.Repeat("]", 65): false,
	} {
		got, ok := decodePlain([]byte(data))
		if ok != want {
			t.Errorf("%s: %t", data, ok)
			continue
		}
		if expected, valid := reference([]byte(data)); ok && (!valid || !reflect.DeepEqual(got, expected)) {
			t.Errorf("%s: %#v, want %#v", data, got, expected)
		}
	}
}

// FuzzDecode holds the short way to what encoding/json makes of the same bytes.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-2.5,"x",true,null]}`, `{"a":{"b":{}},"a":0}`, ` [ ] `, `-0.10`, `00`, `"\u0041"`, "\"\xff\"", `[1]]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, ok := decodePlain(data)
		if !ok {
			return
		}
		if want, valid := reference(data); !valid || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %#v, want %#v, %t", data, got, want, valid)
		}
		if _, large := tooLarge(got, nil); large {
			t.Errorf("%q has a number that is too large", data)
		}
	})
}
