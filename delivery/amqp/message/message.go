package message

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
	"unicode/utf8"

	amqp "github.com/Azure/go-amqp"
)

// Message is a message of the profile, apart from how it is written. A field with its zero value is absent.
type Message struct {
	ID            string // messageId: a UUID, independent of the business message's id (AMQP-18)
	To            string // the queue it goes to, as registered (AMQP-20); not the address of a link
	Subject       string // a code of code list 8279, or SubjectSOAPFault (AMQP-21, AMQP-22)
	ReplyTo       string // the queue for the answer, as registered (AMQP-23)
	CorrelationID string // a UUID; ties an answer to its request (AMQP-24)
	// Correlation is the correlationId with its AMQP type, as it came: a string, uint64, amqp.UUID or []byte. An answer gives
	// it back as it is, whatever it is; in a message of our own that answers nothing it is nil.
	Correlation any
	ContentType string // one of the Content constants (AMQP-25); as received when it is none

	CPAID          string    // id of the CPA (AMQP-27)
	Service        string    // from the CPA, as Action and the roles (AMQP-28)
	Action         string    // see Service
	Timestamp      time.Time // applicationTimeStamp, in UTC with whole seconds (AMQP-29)
	FromHerID      int       // the sender (AMQP-30)
	FromRole       string    // AMQP-31
	ToHerID        int       // the receiver (AMQP-32)
	ToRole         string    // AMQP-33
	ConversationID string    // the same for all messages of a conversation (AMQP-34)

	TTL     time.Duration // 15 s on sync queues (AMQP-43), 0 for never on async queues (AMQP-42); whole milliseconds
	Durable bool          // true but for synchronous messages (AMQP-91)

	// Body is the payload as it is, in one Data section: no MIME, no base64 (AMQP-41).
	Body []byte
	// Error makes this an error message (AMQP-35 to AMQP-40); such a message has no body.
	Error *ErrorReport
}

// ErrorReport holds the content of an error message about the message it refers to.
type ErrorReport struct {
	OriginalID  string    // messageId of the failed message (AMQP-35)
	ReceivedAt  time.Time // when the receiver tried to handle it (AMQP-36); zero when it could not be read
	Condition   Condition // AMQP-37; as received, perhaps one that is not known
	Description string    // AMQP-38
	Data        string    // errorConditionData, "" for none (AMQP-39)
}

// The names of the fields, as they stand on the wire (INC-25) and in error messages. The first seven are properties,
// ApplicationData is the body, the others are application properties.
const (
	FieldMessageID      = "messageId"
	FieldTo             = "to"
	FieldSubject        = "subject"
	FieldReplyTo        = "replyTo"
	FieldCorrelationID  = "correlationId"
	FieldContentType    = "contentType"
	FieldCPAID          = "cpaId"
	FieldService        = "Service"
	FieldAction         = "Action"
	FieldTimestamp      = "applicationTimeStamp"
	FieldFromHerID      = "fromHerId"
	FieldFromRole       = "fromRole"
	FieldToHerID        = "toHerId"
	FieldToRole         = "toRole"
	FieldConversationID = "ConversationId"

	FieldOriginalMessageID  = "originalMessageId"
	FieldReceiverTimestamp  = "receiverTimeStamp"
	FieldErrorCondition     = "errorCondition"
	FieldErrorDescription   = "errorDescription"
	FieldErrorConditionData = "errorConditionData"
	FieldApplicationData    = "applicationData"
	FieldTTL                = "ttl"
)

// SubjectSOAPFault is the subject of a message whose application data is a SOAP
// fault (AMQP-22). Every other subject is a code of code list 8279.
const SubjectSOAPFault = "AMQP_SOAP_FAULT"

// FaultKind names the problem of a field.
type FaultKind uint8

// The kinds of faults.
const (
	Missing FaultKind = iota + 1 // a required field is absent or empty
	Invalid                      // the value cannot be read or is not allowed
)

// String names the kind.
func (k FaultKind) String() string {
	switch k {
	case Missing:
		return "missing"
	case Invalid:
		return "invalid"
	default:
		return "unknown"
	}
}

// Fault is one field that breaks the profile (AMQP-99). It never repeats the value, so it may be logged and sent.
type Fault struct {
	Field string // one of the Field constants
	Kind  FaultKind
}

// FaultFields gives the names of the fields, in the order of the faults.
func FaultFields(faults []Fault) []string {
	names := make([]string, len(faults))
	for i, f := range faults {
		names[i] = f.Field
	}
	return names
}

// AnswerID gives the messageId of an answer to a message, of which it gets the [Seed]: the same for the same original and kind,
// so that an answer that is sent again after a crash is seen to be the same one (AMQP-139), and another for each kind, such as
// "error", "apprec" and "reply". It is a UUID of version 8 made with SHA-256.
func AnswerID(seed, kind string) string {
	sum := sha256.New()
	sum.Write([]byte(kind))
	sum.Write([]byte{0})
	sum.Write([]byte(seed))
	var id amqp.UUID
	copy(id[:], sum.Sum(nil))
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}

// IsUUID reports whether an id is a UUID in its usual form, in either case.
func IsUUID(id string) bool {
	if len(id) != 36 || id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' {
		return false
	}
	_, err := hex.DecodeString(id[:8] + id[9:13] + id[14:18] + id[19:23] + id[24:])
	return err == nil
}

// binaryID gives the text of an id that came as bytes: 16 bytes that are no text are taken for a UUID.
func binaryID(b []byte) string {
	switch {
	case isText(string(b)):
		return string(b)
	case len(b) == len(amqp.UUID{}):
		return amqp.UUID(b).String()
	default:
		return hex.EncodeToString(b)
	}
}

// isText reports whether a value can be kept and shown: UTF-8 without control characters.
func isText(s string) bool {
	for i, r := range s {
		if r < ' ' || r == 0x7f {
			return false
		}
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return false
			}
		}
	}
	return true
}

// timeLayout is ISO 8601 as the profile wants it (AMQP-29): whole seconds and a zone.
const timeLayout = "2006-01-02T15:04:05Z07:00"

// FormatTime writes a time as the profile wants it, in UTC (AMQP-29).
func FormatTime(t time.Time) string { return t.UTC().Format(timeLayout) }

// ParseTime reads a time of the profile (AMQP-29): a zone is required, fractions of a
// second are dropped, an offset may lack its colon. The result is in UTC.
func ParseTime(s string) (time.Time, bool) {
	return parseAny(s, time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04Z07:00")
}

// parseTimeLiberally reads what others write in error messages besides (AMQP-36, AMQP-140): a time without a zone is one in UTC.
func parseTimeLiberally(s string) (time.Time, bool) {
	if t, ok := ParseTime(s); ok {
		return t, true
	}
	return parseAny(s, "01/02/2006 15:04:05", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05.999999999",
		"02.01.2006 15:04:05", time.RFC1123, time.RFC1123Z)
}

func parseAny(s string, layouts ...string) (time.Time, bool) {
	s = strings.TrimSpace(s)
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil && t.Year() >= 1 {
			return t.UTC().Truncate(time.Second), true
		}
	}
	return time.Time{}, false
}

// The content types of the profile (AMQP-25), written exactly so.
const (
	ContentEncrypted          = "application/pkcs7-mime; smime-type=enveloped-data"            // encrypted only
	ContentSigned             = "application/pkcs7-mime; smime-type=signed-data"               // signed only
	ContentSignedAndEncrypted = "application/pkcs7-mime; smime-type=signed-and-enveloped-data" // signed, then encrypted
	ContentSOAP               = "application/soap+xml"                                         // a plain SOAP message
)

// ParseContentType gives the Content constant a value stands for. Case, white space and quotes do not count, and "smimetype" is
// read as smime-type (INC-20). ok is false for any other value.
func ParseContentType(value string) (constant string, ok bool) {
	got := strings.Replace(squeeze(value), ";smimetype=", ";smime-type=", 1)
	for _, constant := range []string{ContentEncrypted, ContentSigned, ContentSignedAndEncrypted, ContentSOAP} {
		if got == squeeze(constant) {
			return constant, true
		}
	}
	return "", false
}

func squeeze(value string) string {
	keep := func(r rune) rune {
		switch r {
		case ' ', '\t', '"':
			return -1
		}
		return r
	}
	return strings.ToLower(strings.Map(keep, value))
}
