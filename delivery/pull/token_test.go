package pull

import (
	"testing"

	"schakel/store"
)

func FuzzToken(f *testing.F) {
	for _, seed := range []string{token("dlv_01J", "lck_ABC"), token("dlv_01J", ""), "", "====", "ZGx2XzEgbGNrXzE", "ZGx2XzEAbGNrXzE", "Ã"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lock, ok := parseToken(text)
		if !ok && lock != (store.PullLock{}) {
			t.Errorf("%q is no token and gives %+v", text, lock)
		}
		if ok && token(lock.DeliveryID, lock.LockID) != text {
			t.Errorf("%q has another form: %+v", text, lock)
		}
	})
}

func TestToken(t *testing.T) {
	t.Parallel()
	id, lock := "dlv_01JZ0000000000000000000000", store.NewLockID()
	if got, ok := parseToken(token(id, lock)); !ok || got != (store.PullLock{DeliveryID: id, LockID: lock}) {
		t.Errorf("got %+v, %v", got, ok)
	}
	if a, b := store.NewLockID(), store.NewLockID(); a == b {
		t.Error("two locks have the same id")
	}
}
