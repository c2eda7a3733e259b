package partners

import (
	"schakel/registry"
	"schakel/store"
)

// Sealed lists the columns of this feature that the vault seals.
func Sealed() []registry.SealedColumn {
	return []registry.SealedColumn{
		{Table: "endpoint", Column: "token_secret", Purpose: registry.SealedFor(endpointSecretPurpose)},
		{Table: "endpoint", Column: "sign_keys", Purpose: registry.SealedFor(signKeyPurpose), Within: true},
		{Table: "endpoint", Column: "certificates", Purpose: registry.SealedFor(certificatePurpose), Within: true},
		{Table: "subscription", Column: "encrypt_seed", Purpose: registry.SealedFor(encryptSeedPurpose)},
		{Table: "endpoint_move", Column: "token_secret", Purpose: registry.SealedFor(endpointSecretPurpose)},
		{Table: "endpoint_move", Column: "certificates", Purpose: registry.SealedFor(certificatePurpose), Within: true},
		{Table: "data_key", Column: "sealed", Purpose: store.DataKeyPurpose},
		{Table: "registration_draft", Column: "sealed", Purpose: registry.SealedFor(draftPurpose)},
	}
}
