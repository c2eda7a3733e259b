package contracts

import "schakel/registry"

// Sealed lists the columns of this feature that the vault seals.
func Sealed() []registry.SealedColumn {
	return []registry.SealedColumn{{Table: "mirror_source", Column: "secret", Purpose: registry.SealedFor(mirrorSecretPurpose)}}
}
