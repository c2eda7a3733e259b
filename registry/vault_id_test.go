package registry_test

import (
	"testing"

	"schakel/registry"
	"schakel/store"
	"schakel/store/storetest"
)

func TestStoredKeyID(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		id, err := registry.StoredKeyID(t.Context(), db)
		if id != "" || err != nil {
			t.Errorf("a database without a key names %q, %v", id, err)
		}
		vault, err := registry.VaultFromKey(make([]byte, 32))
		if err != nil {
			t.Fatal(err)
		}
		if err := vault.Check(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		if id, err = registry.StoredKeyID(t.Context(), db); id != vault.ID() || len(id) != 8 || err != nil {
			t.Errorf("key id %q, %v; want %q", id, err, vault.ID())
		}
	})
}
