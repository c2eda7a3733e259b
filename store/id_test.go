package store_test

import (
	"testing"
	"time"

	"schakel/store"
)

func TestIDAt(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 12, 0, 0, int(5*time.Millisecond), time.UTC)
	before, same, after := store.IDAt("dlv", at.Add(-time.Millisecond)), store.IDAt("dlv", at), store.IDAt("dlv", at.Add(time.Millisecond))
	if before >= same || same >= after {
		t.Errorf("ids out of order: %s %s %s", before, same, after)
	}
	if got, want := len(same), len("dlv_")+26; got != want {
		t.Errorf("length %d, want %d", got, want)
	}
	if got := store.IDAt("dlv", time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)); got == "" {
		t.Error("no id for a time before 1970")
	}
}
