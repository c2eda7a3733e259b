package message

import "time"

// Message is a message of the profile, apart from how it is written. A field with
// its zero value is absent.
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
