package event

import (
	"errors"
	"reflect"
	"testing"
)

// Rules: CE-23, CE-41, CE-58.
func TestAttributesAreKept(t *testing.T) {
	t.Parallel()
	body := "{ \"type\" : \"nl.caf\\u00e9.x\",\n\"ext\":-5, \"data\" : [1], \"specversion\":\"1.0\",\"subject\":null,\"\\u0069d\":\"\\/\",\"source\":\"a\",\"flag\":true}"
	e := accept(t, body)
	want := `{"type":"nl.caf\u00e9.x","ext":-5,"specversion":"1.0","id":"\/","source":"a","flag":true}`
	if string(e.Attributes) != want {
		t.Errorf("CE-23 got  %s\nwant %s", e.Attributes, want)
	}
	if e.Type != "nl.café.x" || e.ID != "/" || e.Subject != "" {
		t.Errorf("fields are %+v", e)
	}
	if _, ok := e.Extension("subject"); ok {
		t.Error("CE-41 a null attribute is there")
	}
	out := want[:len(want)-1] + `,"datacontenttype":"application/json","data":[1]}`
	if got := string(e.AppendJSON([]byte("x"))); got != "x"+out {
		t.Errorf("CE-58 got %s", got)
	}
	again := accept(t, out)
	if got := string(again.AppendJSON(nil)); got != out {
		t.Errorf("CE-58 the second encoding differs: %s", got)
	}
}

func TestFromParts(t *testing.T) {
	t.Parallel()
	e := accept(t, with(`"subject":"a\u20acb","time":"2026-01-01T00:00:00Z","dataschema":"a:b","datacontenttype":"text/plain","n":1,"b":false,"data":"x"`))
	again, err := FromParts(e.Attributes, e.DataKind, e.Data)
	if err != nil || !reflect.DeepEqual(again, e) {
		t.Errorf("got  %+v, %v\nwant %+v", again, err, e)
	}
	if _, err := FromParts([]byte("{}"), DataNone, nil); err != nil {
		t.Errorf("no attributes: %v", err)
	}
	for _, broken := range []string{"", "[]", "{", `{"a"}`, `{"a":{}}`, `{"a":[]}`, `{"a":null}`, `{"a":1} x`, `{"a":"\ud800"}`, `{"a":`, `{"a":"`} {
		if _, err := FromParts([]byte(broken), DataNone, nil); !errors.Is(err, errAttributes) {
			t.Errorf("%q: %v", broken, err)
		}
	}
}

func TestEncodeOddEvents(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]Event{
		`{}`: {},
		`{"datacontenttype":"application/json","data":1}`:                     {DataKind: DataJSON, Data: []byte("1")},
		`{"datacontenttype":"application/octet-stream","data_base64":"AQ=="}`: {DataKind: DataBinary, Data: []byte{1}},
		`{"datacontenttype":"text/plain","data":"\u0001\b\t\n\f\r\"\\é"}`:     {DataKind: DataText, Data: []byte("\x01\b\t\n\f\r\"\\é")},
	} {
		if got := string(e.AppendJSON(nil)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := string(appendBatch(nil, nil)); got != "[]" {
		t.Errorf("an empty batch is %s", got)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	e, err := New(map[string]string{"type": "nl.a.b", "id": "1", "source": "a", "zz": "\"é", "aa": "x"}, []byte(`{"a":1}`), Limits{})
	want := `{"specversion":"1.0","id":"1","source":"a","type":"nl.a.b","aa":"x","zz":"\"é"}`
	if err != nil || string(e.Attributes) != want || e.DataKind != DataJSON {
		t.Errorf("got %s %s, %v", e.Attributes, e.DataKind, err)
	}
	_, err = New(map[string]string{"type": "nl.a.b", "id": "1", "source": "a", "Zz": "x"}, nil, Limits{})
	wantProblem(t, err, "Zz", CodeName)
	_, err = New(map[string]string{"type": "nl.a.b", "id": "1", "source": "a\xff"}, nil, Limits{})
	wantProblem(t, err, "source", CodeCharacters)
	_, err = New(map[string]string{"type": "nl.a.b", "id": "1", "source": "a", "datacontenttype": "application/json"}, []byte{}, Limits{})
	wantProblem(t, err, "data", CodeDataNotJSON)
	_, err = New(map[string]string{"id": "1"}, make([]byte, MinEventBytes), Limits{})
	wantTooLarge(t, err, TooLarge{"event bytes", -1, MinEventBytes, MinEventBytes + 3})
}
