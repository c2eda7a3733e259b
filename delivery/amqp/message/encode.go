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

// Check gives what is wrong with a message of our own, before it is signed and encrypted or sent (AMQP-98). Encode refuses it.
func (m *Message) Check() []Fault {
	faults := m.check(true, nil)
	if m.TTL < 0 || m.TTL%time.Millisecond != 0 || m.TTL/time.Millisecond > math.MaxUint32 {
		faults = append(faults, Fault{FieldTTL, Invalid})
	}
	return faults
}

// Encode writes a message of our own. Every application property is a string (AMQP-03), what is absent is left out and not empty
// (AMQP-27), what the profile does not use is not set (AMQP-19, AMQP-26), the body is one Data section (AMQP-41), empty in an
// error message (AMQP-125, INC-14). The message shares memory with Body. Errors: *InvalidError.
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

const (
	maxText  = 4096  // the longest value of a field that is taken, in bytes
	maxProse = 16384 // the same for the description and the data of an error
)

type rule struct {
	field    string
	required bool
	present  bool
	valid    bool // looked at when present
}

// broken holds the fields whose value could not be read at all.
type broken map[string]bool

// check gives the faults of a message in the order of the profile's table, which is fixed (AMQP-99). Our own messages are held to
// more: their ids are UUIDs, and an error message is complete; of one that came in only the essence is asked (INC-15, INC-16).
func (m *Message) check(own bool, unread broken) []Fault {
	rules := append(m.propertyRules(own), m.applicationRules()...)
	rules = append(rules, m.errorRules(own)...)
	var faults []Fault
	for _, r := range append(rules, m.bodyRule(own)) {
		switch {
		case unread[r.field], r.present && !r.valid:
			faults = append(faults, Fault{r.field, Invalid})
		case !r.present && r.required:
			faults = append(faults, Fault{r.field, Missing})
		}
	}
	return faults
}

func (m *Message) propertyRules(own bool) []rule {
	_, known := ParseContentType(m.ContentType)
	business := m.Error == nil
	return []rule{
		{FieldMessageID, own || business, m.ID != "", isID(m.ID, own)},
		{FieldTo, own || business, m.To != "", fits(m.To)},
		{FieldSubject, business, m.Subject != "", fits(m.Subject)},
		{FieldReplyTo, business, m.ReplyTo != "", fits(m.ReplyTo)},
		{FieldCorrelationID, business, m.CorrelationID != "", isID(m.CorrelationID, own && business && m.Correlation == nil)},
		{FieldContentType, business, m.ContentType != "", known || !business && !own},
		{FieldCPAID, false, m.CPAID != "", fits(m.CPAID)},
		{FieldService, false, m.Service != "", fits(m.Service)},
		{FieldAction, false, m.Action != "", fits(m.Action)},
	}
}

func (m *Message) applicationRules() []rule {
	business := m.Error == nil
	return []rule{
		{FieldTimestamp, business, !m.Timestamp.IsZero(), inYears(m.Timestamp)},
		{FieldFromHerID, business, m.FromHerID != 0, m.FromHerID > 0},
		{FieldFromRole, false, m.FromRole != "", fits(m.FromRole)},
		{FieldToHerID, business, m.ToHerID != 0, m.ToHerID > 0},
		{FieldToRole, false, m.ToRole != "", fits(m.ToRole)},
		{FieldConversationID, false, m.ConversationID != "", fits(m.ConversationID)},
	}
}

func (m *Message) errorRules(own bool) []rule {
	e := m.Error
	if e == nil {
		return nil
	}
	return []rule{
		{FieldOriginalMessageID, !own || !e.Condition.aboutFields(), e.OriginalID != "", fits(e.OriginalID)},
		{FieldReceiverTimestamp, own, !e.ReceivedAt.IsZero(), inYears(e.ReceivedAt)},
		{FieldErrorCondition, true, e.Condition != "", fits(string(e.Condition))},
		{FieldErrorDescription, own, e.Description != "", len(e.Description) <= maxProse && isText(e.Description)},
		{FieldErrorConditionData, false, e.Data != "", len(e.Data) <= maxProse && isText(e.Data)},
	}
}

// bodyRule holds that a business message has a body, and an error message of our own has none (AMQP-125).
func (m *Message) bodyRule(own bool) rule {
	business := m.Error == nil
	return rule{FieldApplicationData, business, len(m.Body) > 0, business || !own}
}

func isID(id string, uuid bool) bool {
	if uuid {
		return IsUUID(id)
	}
	return fits(id)
}

func fits(value string) bool { return len(value) <= maxText && isText(value) }

// inYears reports whether a time can be written with a year of four digits.
func inYears(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 1 && year <= 9999
}
