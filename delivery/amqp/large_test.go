package amqp_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"schakel/delivery/amqp"
	"schakel/delivery/amqp/msghead"
	"schakel/store"
)

// journal is a log that a test reads.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// keepLog has a side write its log to a journal.
func keepLog(j *journal) func(*amqp.Config) {
	return func(c *amqp.Config) { c.Log = slog.New(slog.NewTextHandler(j, nil)) }
}

// TestLargeAttachment: with schemas a message with a large attachment is taken in, and one that the validator cannot read is
// taken in with a warning in the log and on the page.
//
// Rules: AMQP-111
func TestLargeAttachment(t *testing.T) {
	t.Parallel()
	set, log := loadSchemas(t, ownSchemas), &journal{}
	a := simple(t, keepLog(log), hasty, func(c *amqp.Config) { c.Schemas = set; c.Limits.EventBytes = 32 << 20 })
	msgID := uuid.NewString()
	large, err := msghead.Compose(msghead.Draft{
		Type: msghead.Code{V: subjectDialogue, DN: "Dialog"}, MsgID: msgID, Generated: time.Now(), Sender: headParty(a.peer.HerID), Receiver: headParty(a.b.me.HerID),
		Topic: msghead.Code{V: "BA"}, Question: "Se vedlegg.", Attachment: bytes.Repeat([]byte("a"), 8_500_000),
	})
	if err != nil {
		t.Fatal(err)
	}
	send(t, a.wire, a.b.me.Async, letter(t, a.peer, a.b.me, large, uuid.NewString()))
	a.b.message(store.AMQPIn, store.AMQPBusiness, msgID, store.AMQPProcessed)
	if strings.Contains(log.String(), "without validation") {
		t.Error("it was not validated")
	}
	odd := uuid.NewString()
	document := replace(dialogue(t, a.peer, a.b.me, odd), "<Sporsmal>", "<"+strings.Repeat("x", 60_000)+"/><Sporsmal>")
	send(t, a.wire, a.b.me.Async, letter(t, a.peer, a.b.me, document, uuid.NewString()))
	row := a.b.message(store.AMQPIn, store.AMQPBusiness, odd, store.AMQPProcessed)
	if !strings.Contains(log.String(), "without validation") || !strings.Contains(row.Detail, "without validation") {
		t.Errorf("nothing is said of it: %s", row.Detail)
	}
	take(t, a.wire, a.peer.Async, 2)
}
