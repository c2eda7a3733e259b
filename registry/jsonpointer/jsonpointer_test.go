package jsonpointer

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestLookup(t *testing.T) { // the examples of RFC 6901, section 5
	t.Parallel()
	var root any
	if err := json.Unmarshal([]byte(`{"foo":["bar","baz"],"":0,"a/b":1,"m~n":8}`), &root); err != nil {
		t.Fatal(err)
	}
	for pointer, want := range map[string]string{
		"/foo/0": `"bar"`, "/": "0", "/a~1b": "1", "/m~0n": "8", "/foo": `["bar","baz"]`,
		"/foo/2": "", "/foo/-1": "", "/foo/01": "", "/foo/0/x": "", "foo": "", "/absent": "",
	} {
		got, ok := Lookup(root, pointer)
		text, err := json.Marshal(got)
		if err != nil || ok != (want != "") || ok && string(text) != want {
			t.Errorf("%q: %s %t, want %q (%v)", pointer, text, ok, want, err)
		}
	}
	if got, ok := Lookup(root, ""); !ok || got == nil {
		t.Error("the empty pointer is not the whole document")
	}
}

func FuzzTokens(f *testing.F) {
	f.Add("a/b", "~1")
	f.Fuzz(func(t *testing.T, a, b string) {
		if list, ok := Tokens(Join(a, b)); !ok || !slices.Equal(list, []string{a, b}) {
			t.Errorf("%q, %q came back as %q", a, b, list)
		}
	})
}
