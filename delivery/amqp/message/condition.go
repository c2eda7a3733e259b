package message

import "strings"

// Condition is the code of an error (AMQP-37): one of the constants, or what another
// party made up.
type Condition string

// The conditions of section 2.2.6 (AMQP-127 to AMQP-137) and the two that only
// section 2.2.3 names (AMQP-100, AMQP-106), in the spelling we write (INC-01 to INC-03).
const (
	InvalidCMS           Condition = "transport:invalid-cms-pkcs"       // AMQP-127
	InvalidCertificate   Condition = "transport:invalid-certificate"    // AMQP-128
	ExpiredCertificate   Condition = "transport:expired-certificate"    // AMQP-129, AMQP-102
	RevokedCertificate   Condition = "transport:revoked-certificate"    // AMQP-130, AMQP-103
	DecryptionFailed     Condition = "transport:decryption-failed"      // AMQP-131, AMQP-101
	InvalidSignature     Condition = "transport:invalid-signature"      // AMQP-132, AMQP-104
	RequiredFieldMissing Condition = "transport:required-field-missing" // AMQP-133
	InvalidFieldValue    Condition = "transport:invalid-field-value"    // AMQP-134, AMQP-99, AMQP-107
	InvalidEncoding      Condition = "transport:invalid-encoding"       // AMQP-135
	SpoofingAttack       Condition = "abuse:spoofing-attack"            // AMQP-136, AMQP-108
	NotInterpretableXML  Condition = "transport:xml-not-interpretable"  // AMQP-137; read, and written where so configured
	NotWellFormedXML     Condition = "transport:not-well-formed-xml"    // AMQP-106
	UnsupportedMessage   Condition = "transport:unsupported-message"    // AMQP-100
)

// anyField stands in the texts where the name of a field comes.
const anyField = "AnyField"

// Conditions lists the conditions in the order of section 2.2.6.
func Conditions() []Condition {
	return []Condition{
		InvalidCMS, InvalidCertificate, ExpiredCertificate, RevokedCertificate, DecryptionFailed, InvalidSignature,
		RequiredFieldMissing, InvalidFieldValue, InvalidEncoding, SpoofingAttack, NotInterpretableXML, NotWellFormedXML, UnsupportedMessage,
	}
}

// Description is the text of a condition, word for word that of section 2.2.6 (AMQP-38,
// INC-12), or ours where it has none; "" for a condition that is not known.
func (c Condition) Description() string {
	switch c {
	case InvalidCMS:
		return "Could not decrypt message because of invalid format to CMS/PKCS."
	case InvalidCertificate:
		return "Could not decrypt message because of unknown/incorrect certificate"
	case ExpiredCertificate:
		return "Could not decrypt message because of certificate expired."
	case RevokedCertificate:
		return "Could not decrypt message because of certificate added to CRL (Certificate Revocation List)."
	case DecryptionFailed:
		return "Could not decrypt message because of unknown reason."
	case InvalidSignature:
		return "Digital signature could not be verified."
	case RequiredFieldMissing:
		return "Missing or invalid value in field: '" + anyField + "'."
	case InvalidFieldValue:
		return "Invalid value in field: '" + anyField + "'."
	case InvalidEncoding:
		return "Error occurred during decoding message. Expecting message encoded as 'Unicode'."
	case SpoofingAttack:
		return "Possible spoofing attack detected."
	case NotInterpretableXML:
		return "XML cannot be interpreted"
	case NotWellFormedXML:
		return "XML is not well-formed, or its header cannot be interpreted."
	case UnsupportedMessage:
		return "The receiver does not support the process of this message."
	default:
		return ""
	}
}

// aboutFields reports whether a condition may be about a message without a messageId.
func (c Condition) aboutFields() bool { return c == RequiredFieldMissing || c == InvalidFieldValue }

// ParseCondition reads a condition in any case, with the white space of the
// specification's tables, and in both spellings of revoked-certificate (INC-02). One
// that is not known is given as it came (AMQP-140).
func ParseCondition(text string) Condition {
	got := strings.ToLower(strings.Join(strings.Fields(text), ""))
	if got == "transport:revoked-cerificate" {
		return RevokedCertificate
	}
	for _, c := range Conditions() {
		if got == string(c) {
			return c
		}
	}
	return Condition(text)
}
