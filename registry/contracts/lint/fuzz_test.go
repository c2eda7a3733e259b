package lint

import (
	"reflect"
	"testing"

	"schakel/registry/contracts/contract"
)

// Whatever can be read as a contract gets advice, the same each time, with a score within its bounds.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		api, channel,
		`{"openapi":"3.1.0","paths":{"/a":{"get":{"parameters":[{"$ref":"#/paths/~1a/get/parameters/0"}],"responses":{"200":{"$ref":"#/x"}}}}}}`,
		`{"openapi":"3.0.0","components":{"schemas":{"a":{"properties":{"aDate":{"allOf":[{"$ref":"#/components/schemas/a"}]}}}}}}`,
		`{"asyncapi":"3.0.0","components":{"messages":{"a":{"payload":{"properties":{"type":{"const":"nl.a.b"},"id":1,"source":{}}},"traits":[{"$ref":"#"}],"examples":[{"payload":[]}]}}}}`,
		`{"asyncapi":"2.6.0","channels":{"a":{"publish":{"message":{"name":"nl.a.b","payload":{"items":{"$ref":"#/channels/a/publish/message/payload"}}}}}}}`,
	} {
		f.Add([]byte(seed))
	}
	limits := contract.Limits{Bytes: 64 << 10, Nodes: 10_000}
	f.Fuzz(func(t *testing.T, content []byte) {
		doc, _, err := contract.Parse(append([]byte{}, content...), limits)
		if err != nil {
			t.Fatal(err)
		}
		if doc == nil {
			return
		}
		r := Check(doc)
		if r.Score < 0 || r.Score > 100 || len(r.Outcomes) != len(Rules(doc.Kind)) {
			t.Errorf("score %d, %d rules", r.Score, len(r.Outcomes))
		}
		if again := Check(doc); !reflect.DeepEqual(r, again) {
			t.Error("another report for the same document")
		}
	})
}
