package message

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	amqp "github.com/Azure/go-amqp"
)

// defaultPriority holds when a message names no priority, by the standard.
const defaultPriority = 4

// InvalidError says that a message breaks the profile and was not written.
type InvalidError struct {
	Faults []Fault // at least one, in the order of the profile's table
}

// Error names the fields.
func (e *InvalidError) Error() string {
	return "message breaks the AMQP profile in " + strings.Join(FaultFields(e.Faults), ", ")
}

// Check gives what is wrong with a message of our own, before it is signed and
// encrypted or sent (AMQP-98). Encode refuses it.
func (m *Message) Check() []Fault {
	faults := m.check(true, nil)
	if m.TTL < 0 || m.TTL%time.Millisecond != 0 || m.TTL/time.Millisecond > math.MaxUint32 {
		faults = append(faults, Fault{FieldTTL, Invalid})
	}
	return faults
}

// Encode writes a message of our own. Every application property is a string
// (AMQP-03), what is absent is left out and not empty (AMQP-27), what the profile
// does not use is not set (AMQP-19, AMQP-26), the body is one Data section (AMQP-41),
// empty in an error message (AMQP-125, INC-14). The message shares memory with Body.
// Errors: *InvalidError.
func Encode(m Message) (*amqp.Message, error) {
	if faults := m.Check(); len(faults) > 0 {
		return nil, fmt.Errorf("encode message: %w", &InvalidError{Faults: faults})
	}
	body := m.Body
	if body == nil {
		body = []byte{}
	}
	return &amqp.Message{
		Header:                &amqp.MessageHeader{Durable: m.Durable, Priority: defaultPriority, TTL: m.TTL},
		Properties:            m.properties(),
		ApplicationProperties: m.applicationProperties(),
		Data:                  [][]byte{body},
	}, nil
}

func (m *Message) properties() *amqp.MessageProperties {
	p := &amqp.MessageProperties{
		MessageID: m.ID,
		To:        &m.To,
		Subject:   optional(m.Subject),
		ReplyTo:   optional(m.ReplyTo),
	}
	if p.CorrelationID = m.Correlation; m.Correlation == nil && m.CorrelationID != "" {
		p.CorrelationID = m.CorrelationID
	}
	if constant, ok := ParseContentType(m.ContentType); ok {
		p.ContentType = &constant
	}
	return p
}

func (m *Message) applicationProperties() map[string]any {
	all := map[string]any{}
	set := func(name, value string) {
		if strings.TrimSpace(value) != "" {
			all[name] = value
		}
	}
	set(FieldCPAID, m.CPAID)
	set(FieldService, m.Service)
	set(FieldAction, m.Action)
	set(FieldTimestamp, formatSet(m.Timestamp))
	set(FieldFromHerID, formatHerID(m.FromHerID))
	set(FieldFromRole, m.FromRole)
	set(FieldToHerID, formatHerID(m.ToHerID))
	set(FieldToRole, m.ToRole)
	set(FieldConversationID, m.ConversationID)
	if e := m.Error; e != nil {
		set(FieldOriginalMessageID, e.OriginalID)
		set(FieldReceiverTimestamp, formatSet(e.ReceivedAt))
		set(FieldErrorCondition, string(e.Condition))
		set(FieldErrorDescription, e.Description)
		set(FieldErrorConditionData, e.Data)
	}
	return all
}

func optional(value string) *string {
	if value == "" {
		return nil
	}
	return &value
}

func formatSet(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return FormatTime(t)
}

func formatHerID(id int) string {
	if id == 0 {
		return ""
	}
	return strconv.Itoa(id)
}
