package message

import (
	"strconv"
	"strings"
	"time"

	amqp "github.com/Azure/go-amqp"
)

// Decode reads a message that came in, as liberally as it can (AMQP-140), and gives
// what breaks the profile in the order of its table (AMQP-99). A field with a fault
// holds what could be read of it, perhaps nothing. A message with any of the fields
// of an error report has Error set, on whatever queue it came. The body may share
// memory with the message that came.
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

// errorReport gives nil when no field of a report is there. Its texts are for people:
// what cannot be shown in them is left out. A time that cannot be read is no fault,
// and in an error message that holds for applicationTimeStamp too.
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
