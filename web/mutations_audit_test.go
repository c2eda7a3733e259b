package web

import (
	"net/url"
	"strings"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/registry"
	"schakel/store"
)

// A history that is replaced through the API stands in the audit trail, once, under the name of the client; what is
// published else does not.
//
// Rules: MUT-38.
func TestReplacedHistoryIsAudited(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	w.publish(t, 2)
	load := w.file(t, format.Initial, w.groups(2))
	target := groupsPath + "?replaceReason=" + url.QueryEscape("Measured anew")
	key := freshKey()
	for range 2 {
		w.send(t, target, "application/xml", key, load).want(t, 201)
	}
	rows, total, err := w.reg.Audit.List(t.Context(), registry.Scope{All: true}, store.AuditFilter{ObjectKind: "dataset", ObjectID: testDataset, Action: registry.ActionHistoryReplaced, Page: store.Page{Size: 10}})
	if err != nil || total != 1 {
		t.Fatalf("%d entries, %v", total, err)
	}
	want := " replaced the whole history of dataset " + rows[0].ObjectName + ", so that every copy begins anew: “Measured anew”"
	if got := registry.Sentence(rows[0]); rows[0].ActorKind != registry.ActorClient || rows[0].ActorName == "" || !strings.HasSuffix(got, want) {
		t.Errorf("%+v: %s", rows[0], got)
	}
}
