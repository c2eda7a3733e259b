package amqp

import "schakel/registry"

// messagePurpose is that of messages that wait for a person: see package schakel/delivery/amqp, which seals them.
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
