package identity

import "schakel/registry"

// Sealed lists the columns of this feature that the vault seals.
func Sealed() []registry.SealedColumn {
	return []registry.SealedColumn{
		{Table: "account_factor", Column: "secret", Purpose: registry.SealedFor(totpPurpose)},
		{Table: "login_session", Column: "id_token", Purpose: registry.SealedFor(tokenPurpose)},
		{Table: "assertion_key", Column: "private_key", Purpose: assertionPurpose},
		{Table: "signing_key", Column: "private_key", Purpose: keyPurpose},
	}
}
