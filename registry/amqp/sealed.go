package amqp

import "schakel/registry"

// messagePurpose binds the sealed form of messages that wait for a person; package schakel/delivery/amqp seals them.
const messagePurpose = "amqp-message"

// Sealed lists the columns of this feature that the vault seals.
func Sealed() []registry.SealedColumn {
	return []registry.SealedColumn{
		{Table: "amqp_broker", Column: "secret", Purpose: registry.SealedFor(brokerPasswordPurpose)},
		{Table: "amqp_broker", Column: "private_key", Purpose: registry.SealedFor(brokerKeyPurpose)},
		{Table: "amqp_certificate", Column: "private_key", Of: "thumbprint", Purpose: partyKeyPurpose},
		{Table: "amqp_message", Column: "encoded", Purpose: registry.SealedFor(messagePurpose), Bytes: true},
	}
}
