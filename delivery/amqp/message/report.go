package message

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// AnswerError is the kind of an error message for AnswerID.
const AnswerError = "error"

// Refusal is why a receiver cannot take a message: a condition with what goes into
// the text and the data of the error message. Make one with the functions below.
type Refusal struct {
	Condition Condition
	Field     string // the first field, for conditions whose text names one
	Data      string // errorConditionData (AMQP-39), "" for none
}

// Refuse makes a refusal with a condition alone.
func Refuse(c Condition) Refusal { return Refusal{Condition: c} }

// RefuseFields makes a refusal for fields: RequiredFieldMissing or InvalidFieldValue,
// with a JSON array of their names (AMQP-133, AMQP-134).
func RefuseFields(c Condition, fields ...string) Refusal {
	r := Refusal{Condition: c, Data: marshal(fields)}
	if len(fields) > 0 {
		r.Field = fields[0]
	}
	return r
}

// RefuseCertificate makes a refusal over a certificate, with the thumbprints that
// were expected and found, in hexadecimal; either may be "" (AMQP-128 to AMQP-132).
func RefuseCertificate(c Condition, expected, actual string) Refusal {
	type pair struct {
		Expected string `json:"expected"`
		Actual   string `json:"actual"`
	}
	return Refusal{Condition: c, Data: marshal(map[string]pair{"thumbprint": {expected, actual}})}
}

// RefuseEncoding makes a refusal of a text in another character set than the one named, by its IANA name (AMQP-135).
func RefuseEncoding(expected string) Refusal {
	return Refusal{Condition: InvalidEncoding, Data: expected}
}

// RefuseSpoofing makes a refusal of a message whose sender is one HER-id outside and
// another, as it was read, inside (AMQP-136, INC-11).
func RefuseSpoofing(amqpHerID int, applicationHerID string) Refusal {
	return Refusal{
		Condition: SpoofingAttack,
		Data:      marshal([]string{"amqp:" + strconv.Itoa(amqpHerID), "application:" + applicationHerID}),
	}
}

// Description is the text for people (AMQP-38).
func (r Refusal) Description() string {
	text := r.Condition.Description()
	if r.Field != "" {
		text = strings.Replace(text, anyField, r.Field, 1)
	}
	return text
}

// Report makes the error message that tells the sender of a message why it is refused (AMQP-35 to AMQP-39, AMQP-125, AMQP-126).
// to is the sender's error queue and replyTo our own, both as registered (AMQP-79, INC-16); now is when the message was tried. It
// carries nothing of the business document and no content type (INC-14, INC-15). A message without a messageId cannot be referred
// to: originalMessageId is left out. The caller decides whether a report may go to the sender at all (AMQP-48).
func Report(original Message, r Refusal, to, replyTo string, now time.Time) Message {
	correlation, as := original.CorrelationID, original.Correlation
	if correlation == "" {
		correlation, as = original.ID, nil
	}
	now = now.UTC().Truncate(time.Second)
	return Message{
		ID: AnswerID(seedOf(original), AnswerError), To: to, Subject: original.Subject, ReplyTo: replyTo, CorrelationID: correlation, Correlation: as,
		CPAID: original.CPAID, Timestamp: now, FromHerID: original.ToHerID, ToHerID: original.FromHerID,
		ConversationID: original.ConversationID, Durable: true,
		Error: &ErrorReport{
			OriginalID: original.ID, ReceivedAt: now, Condition: r.Condition, Description: r.Description(), Data: r.Data,
		},
	}
}

// Seed identifies a message for [AnswerID]: a messageId is unique for its sender alone.
func Seed(fromHerID int64, messageID string) string {
	return strconv.FormatInt(fromHerID, 10) + "\n" + messageID
}

// seedOf identifies a message also when it came without a messageId.
func seedOf(m Message) string {
	if m.ID != "" {
		return Seed(int64(m.FromHerID), m.ID)
	}
	body := sha256.Sum256(m.Body)
	return strings.Join([]string{strconv.Itoa(m.FromHerID), m.CorrelationID, formatSet(m.Timestamp), hex.EncodeToString(body[:])}, "\n")
}

// marshal gives the JSON of a value that always has one, with its text unescaped.
func marshal(value any) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value)
	return strings.TrimSuffix(out.String(), "\n")
}

// Condition is the code of an error (AMQP-37): one of the constants, or what another party made up.
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

// ParseCondition reads a condition in any case, with the white space of the specification's tables, and in both spellings of
// revoked-certificate (INC-02). One that is not known is given as it came (AMQP-140).
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
