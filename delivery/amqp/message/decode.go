package message

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	amqp "github.com/Azure/go-amqp"
)

// Decode reads a message that came in, as liberally as it can (AMQP-140), and gives what breaks the profile in the order of its
// table (AMQP-99). A field with a fault holds what could be read of it, perhaps nothing. A message with any of the fields of an
// error report has Error set, on whatever queue it came. The body may share memory with the message that came.
func Decode(in *amqp.Message) (Message, []Fault) {
	d := decoder{properties: in.Properties, application: in.ApplicationProperties, unread: broken{}}
	if d.properties == nil {
		d.properties = &amqp.MessageProperties{}
	}
	m := Message{Durable: in.Header != nil && in.Header.Durable}
	if in.Header != nil {
		m.TTL = in.Header.TTL
	}
	d.readProperties(&m)
	d.readApplication(&m)
	m.Error = d.errorReport()
	m.Body = d.body(in)
	return m, m.check(false, d.unread)
}

// decoder reads the fields of one message and remembers which it could not read.
type decoder struct {
	properties  *amqp.MessageProperties
	application map[string]any
	unread      broken
}

func (d *decoder) readProperties(m *Message) {
	p := d.properties
	m.ID = d.text(FieldMessageID, p.MessageID)
	m.To = d.pointed(FieldTo, p.To)
	m.Subject = d.pointed(FieldSubject, p.Subject)
	m.ReplyTo = d.pointed(FieldReplyTo, p.ReplyTo)
	m.CorrelationID, m.Correlation = d.correlation(p.CorrelationID)
	m.ContentType = d.pointed(FieldContentType, p.ContentType)
	if constant, ok := ParseContentType(m.ContentType); ok {
		m.ContentType = constant
	}
}

func (d *decoder) readApplication(m *Message) {
	m.CPAID = d.named(FieldCPAID)
	m.Service = d.named(FieldService)
	m.Action = d.named(FieldAction)
	m.Timestamp = d.time(FieldTimestamp, ParseTime)
	m.FromHerID = d.herID(FieldFromHerID)
	m.FromRole = d.named(FieldFromRole)
	m.ToHerID = d.herID(FieldToHerID)
	m.ToRole = d.named(FieldToRole)
	m.ConversationID = d.named(FieldConversationID)
}

// errorReport gives nil when no field of a report is there. Its texts are for people: what cannot be shown in them is left out. A
// time that cannot be read is no fault, and in an error message that holds for applicationTimeStamp too.
func (d *decoder) errorReport() *ErrorReport {
	if !d.hasAny(FieldOriginalMessageID, FieldReceiverTimestamp, FieldErrorCondition, FieldErrorDescription, FieldErrorConditionData) {
		return nil
	}
	e := &ErrorReport{
		OriginalID:  d.named(FieldOriginalMessageID),
		ReceivedAt:  d.time(FieldReceiverTimestamp, parseTimeLiberally),
		Condition:   ParseCondition(d.named(FieldErrorCondition)),
		Description: d.prose(FieldErrorDescription),
		Data:        d.prose(FieldErrorConditionData),
	}
	for _, field := range []string{FieldReceiverTimestamp, FieldTimestamp, FieldErrorDescription, FieldErrorConditionData} {
		delete(d.unread, field)
	}
	return e
}

// body joins the Data sections, and takes an AMQP value of text or bytes for one.
func (d *decoder) body(in *amqp.Message) []byte {
	switch value := in.Value.(type) {
	case nil, amqp.Null:
	case []byte:
		return value
	case string:
		return []byte(value)
	default:
		d.unread[FieldApplicationData] = true
	}
	if len(in.Sequence) > 0 {
		d.unread[FieldApplicationData] = true
	}
	if len(in.Data) == 1 {
		return in.Data[0]
	}
	var whole []byte
	for _, part := range in.Data {
		whole = append(whole, part...)
	}
	return whole
}

func (d *decoder) pointed(field string, value *string) string {
	if value == nil {
		return ""
	}
	return d.text(field, *value)
}

// named reads an application property, in whatever case its name is (INC-25).
func (d *decoder) named(field string) string { return d.text(field, d.lookUp(field)) }

func (d *decoder) herID(field string) int {
	text := strings.TrimSpace(d.named(field))
	if text == "" {
		return 0
	}
	id, err := strconv.ParseInt(text, 10, 32)
	if err != nil || id <= 0 {
		d.unread[field] = true
		return 0
	}
	return int(id)
}

func (d *decoder) time(field string, parse func(string) (time.Time, bool)) time.Time {
	if t, ok := d.lookUp(field).(time.Time); ok {
		return t.UTC().Truncate(time.Second)
	}
	text := d.named(field)
	if text == "" {
		return time.Time{}
	}
	t, ok := parse(text)
	if !ok {
		d.unread[field] = true
	}
	return t
}

// text gives a value as text; a value of no simple type, or one that cannot be kept,
// makes the field unread. White space around it does not count.
func (d *decoder) text(field string, value any) string {
	if value == nil {
		return ""
	}
	text, ok := textOf(value)
	if text = strings.TrimSpace(text); !ok || !fits(text) {
		d.unread[field] = true
		return ""
	}
	return text
}

// prose gives a text for people, with what cannot be shown left out.
func (d *decoder) prose(field string) string {
	text, _ := textOf(d.lookUp(field))
	if len(text) > maxProse {
		text = text[:maxProse]
	}
	shown := func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r == '\r':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}
	return strings.TrimSpace(strings.Map(shown, strings.ToValidUTF8(text, "")))
}

func textOf(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case amqp.Symbol:
		return string(v), true
	case amqp.UUID:
		return v.String(), true
	case []byte:
		return binaryID(v), true
	case time.Time:
		return FormatTime(v), true
	case bool:
		return strconv.FormatBool(v), true
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return fmt.Sprint(v), true
	case float32:
		return strconv.FormatFloat(float64(v), 'f', -1, 32), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	default:
		return "", false
	}
}

// lookUp finds an application property: by its exact name, else by the first name in
// the order of bytes that differs in case alone.
func (d *decoder) lookUp(field string) any {
	if value, ok := d.application[field]; ok {
		return value
	}
	var names []string
	for name := range d.application {
		if strings.EqualFold(name, field) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return d.application[slices.Min(names)]
}

func (d *decoder) hasAny(fields ...string) bool {
	return slices.ContainsFunc(fields, func(field string) bool { return d.lookUp(field) != nil })
}

// Tags of a packed correlationId, by its AMQP type.
const (
	packedText   = 's'
	packedNumber = 'n' // ulong
	packedUUID   = 'u'
	packedBinary = 'b'
)

// PackCorrelation writes a correlationId as it stood in a message, with its AMQP type, for [UnpackCorrelation]. It gives nil
// when text, the result of [Decode], is the same string.
func PackCorrelation(value any, text string) []byte {
	switch v := value.(type) {
	case string:
		if v == text {
			return nil
		}
		return append([]byte{packedText}, v...)
	case uint64:
		return binary.BigEndian.AppendUint64([]byte{packedNumber}, v)
	case amqp.UUID:
		return append([]byte{packedUUID}, v[:]...)
	case []byte:
		return append([]byte{packedBinary}, v...)
	}
	return nil
}

// UnpackCorrelation gives the correlationId to write in an answer: what was packed, else text as a string, and nil for neither.
func UnpackCorrelation(packed []byte, text string) any {
	if len(packed) == 0 {
		if text == "" {
			return nil
		}
		return text
	}
	switch rest := packed[1:]; {
	case packed[0] == packedText:
		return string(rest)
	case packed[0] == packedNumber && len(rest) == 8:
		return binary.BigEndian.Uint64(rest)
	case packed[0] == packedUUID && len(rest) == len(amqp.UUID{}):
		return amqp.UUID(rest)
	case packed[0] == packedBinary:
		return rest
	}
	return text
}

// correlation reads a correlationId. Any text, number, binary or UUID will do: an answer carries what came, and the text
// is for finding and showing it, with what cannot be shown left out.
func (d *decoder) correlation(value any) (text string, as any) {
	known := true
	switch v := value.(type) {
	case nil:
		return "", nil
	case string:
		text, known = v, utf8.ValidString(v)
	case uint64, amqp.UUID, []byte:
		text, _ = textOf(v)
	default:
		text = d.text(FieldCorrelationID, v)
		return text, text
	}
	if !known || len(text) > maxProse {
		d.unread[FieldCorrelationID] = true
		return "", nil
	}
	if value == text && IsUUID(text) {
		return text, nil // the text says all of it, as the profile requires
	}
	return shownID(text), value
}

// shownID is an id without white space around it and without control characters, in at most maxText bytes. An id that is
// nothing but those stays visible as what can be shown of it.
func shownID(id string) string {
	shown := strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, id))
	if shown == "" && id != "" {
		shown = "(blank)"
	}
	if len(shown) > maxText {
		shown = strings.ToValidUTF8(shown[:maxText], "")
	}
	return shown
}
