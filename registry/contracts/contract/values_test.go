package contract

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestYAMLValues(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"null": "null", "~": "null", "": "null", "Null": "null", "true": "true", "FALSE": "false",
		"yes": `"yes"`, "No": `"No"`, "on": `"on"`, "'true'": `"true"`, `"1"`: `"1"`,
		"1": "1", "-12": "-12", "+5": "5", "007": "7", "0o17": "15", "0x1F": "31", "1_000": `"1_000"`, "0b1": `"0b1"`,
		"1.50": "1.50", "1.": "1.0", ".5": "0.5", "-.5e3": "-0.5e3", "01.5": "1.5", "1e3": "1e3", "+1.0": "1.0", "0x": `"0x"`,
		"12345678901234567890": "12345678901234567890", "-": "[null]", "1.2.3": `"1.2.3"`, "1:30": `"1:30"`,
		"2020-01-01": `"2020-01-01"`, "2020-01-01T00:00:00Z": `"2020-01-01T00:00:00Z"`,
		"!!str 1": `"1"`, "!!float 1": "1", "!!int 0x10": "16", "!!null null": "null",
		"|\n  a\n  b": `"a\nb"`, "{1: a, true: b, null: c}": `{"1":"a","null":"c","true":"b"}`, "&a [1]": "[1]",
	} {
		root, _, p := readYAML([]byte("a: "+source), Limits{}.withDefaults())
		if source == "-" {
			root, _, p = readYAML([]byte("a:\n- "), Limits{}.withDefaults())
		}
		if p != nil {
			t.Errorf("%q refused: %s", source, p.detail)
			continue
		}
		got, err := json.Marshal(root.(map[string]any)["a"])
		if err != nil || string(got) != want {
			t.Errorf("%q: got %s (%v), want %s", source, got, err, want)
		}
	}
}

func TestYAMLSharesAliases(t *testing.T) {
	t.Parallel()
	root, _, p := readYAML([]byte("k: &k name\nv: &v {a: [1]}\nuse: {*k : *v, again: *v}"), Limits{}.withDefaults())
	if p != nil {
		t.Fatal(p.detail)
	}
	got, _ := json.Marshal(root.(map[string]any)["use"])
	if want := `{"again":{"a":[1]},"name":{"a":[1]}}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestJSONValuesEqualThoseOfTheStandardLibrary(t *testing.T) {
	t.Parallel()
	source := `{"a":[1,-0.5e+3,1E2,true,false,null,"",{}, [ ]],"\ud83d\ude00\u00e9":"\"\\\/\b\f\n\r\t\u0000é😀","b":{"b":{}}}`
	got, p := readJSON([]byte(source), Limits{}.withDefaults())
	if p != nil {
		t.Fatal(p.detail)
	}
	var want any
	decoder := json.NewDecoder(strings.NewReader(source))
	decoder.UseNumber()
	if err := decoder.Decode(&want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	json := "{\n  \"é/~\": {\"\\u0061\": [1,\n {\"x\": \"}\\\"\", \"b\": null}]},\n\t\"z\": 1}"
	yaml := "é/~: \n  a:\n  - 1\n  - {x: '}\"', b: &b }\nz: 1\nalias: &s {k: v}\nuse: *s"
	for _, tt := range []struct {
		content, pointer string
		line, column     int
	}{
		{json, "", 1, 1},
		{json, "/é~1~0", 2, 3},
		{json, "/é~1~0/a", 2, 11},
		{json, "/é~1~0/a/0", 2, 22},
		{json, "/é~1~0/a/1/b", 3, 15},
		{json, "/é~1~0/a/1/missing", 3, 2},
		{json, "/z", 4, 2},
		{yaml, "", 1, 1},
		{yaml, "/é~1~0/a", 2, 3},
		{yaml, "/é~1~0/a/1/b", 4, 15},
		{yaml, "/é~1~0/a/1/missing/more", 4, 5},
		{yaml, "/z", 5, 1},
		{yaml, "/use/k", 6, 12},
	} {
		d := &Document{content: []byte(tt.content), limits: Limits{}.withDefaults()}
		if p := d.read(); p != nil {
			t.Fatal(p.detail)
		}
		if line, column := d.Locate(tt.pointer); line != tt.line || column != tt.column {
			t.Errorf("%s %q: got %d:%d, want %d:%d", d.Format, tt.pointer, line, column, tt.line, tt.column)
		}
	}
}
