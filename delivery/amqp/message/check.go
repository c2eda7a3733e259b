package message

import "time"

const (
	maxText  = 4096  // the longest value of a field that is taken, in bytes
	maxProse = 16384 // the same for the description and the data of an error
)

// rule sets the check of one field.
type rule struct {
	field    string
	required bool
	present  bool
	valid    bool // looked at when present
}

// broken holds the fields whose value could not be read at all.
type broken map[string]bool

// check gives the faults of a message in the order of the profile's table, which is
// fixed (AMQP-99). Our own messages are held to more: their ids are UUIDs, and an
// error message is complete; of one that came in only the essence is asked (INC-15,
// INC-16).
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

// bodyRule holds that a business message has a body, and an error message of our own
// has none (AMQP-125).
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
