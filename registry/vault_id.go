package registry

import (
	"context"
	"fmt"
	"strings"

	"schakel/store"
)

// ID names the key, without telling anything of it.
func (v *Vault) ID() string { return v.id }

// StoredKeyID names the key that the secrets of a database are sealed with; empty when it was never tied to one.
func StoredKeyID(ctx context.Context, db *store.DB) (string, error) {
	sealed, err := db.Setting(ctx, vaultSetting)
	if err != nil {
		return "", fmt.Errorf("read key id: %w", err)
	}
	rest, ok := strings.CutPrefix(sealed, "v1.")
	if !ok {
		return "", nil
	}
	id, _, _ := strings.Cut(rest, ".")
	return id, nil
}
