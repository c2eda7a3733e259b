package message

// The names of the fields, as they stand on the wire (INC-25) and in error
// messages. The first seven are properties, ApplicationData is the body, the others
// are application properties.
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

// Fault is one field that breaks the profile (AMQP-99). It never repeats the value,
// so it may be logged and sent.
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
