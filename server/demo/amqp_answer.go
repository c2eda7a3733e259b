package demo

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/google/uuid"

	"schakel/delivery/amqp/msghead"
)

// HookAnswers is the hook of the system that answers synchronous questions (AMQP-94).
const HookAnswers = "answers"

// question answers the message in an event with another.
func (r *Receiver) question(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, 1<<20))
	var event struct {
		ID, Type, Data string
		Bytes          string `json:"data_base64"`
	}
	if err == nil {
		err = json.Unmarshal(body, &event)
	}
	status := r.judge(HookAnswers, event.ID, q.Header.Get("Authorization"))
	var reply []byte
	if err == nil && status == http.StatusAccepted {
		reply, err = r.reply(event.Data, event.Bytes)
	}
	if err != nil {
		status = http.StatusBadRequest
	}
	r.note(Received{r.now(), HookAnswers, event.Type, event.ID, status})
	if status != http.StatusAccepted {
		answer(w, status, map[string]any{"status": status, "title": http.StatusText(status), "detail": excuses()[status]})
		return
	}
	w.Header().Set("Content-Type", "application/xml")
	_, _ = w.Write(reply) // who asked and is gone needs no answer
}

// reply makes the answer to a message that is data as text or, when that is empty, in base64.
func (r *Receiver) reply(text, encoded string) ([]byte, error) {
	document := []byte(text)
	if text == "" {
		var err error
		if document, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return nil, fmt.Errorf("read question: %w", err)
		}
	}
	asked, err := msghead.Parse(document)
	if err != nil {
		return nil, fmt.Errorf("read question: %w", err)
	}
	if asked.Kind != msghead.MsgHead {
		return nil, errors.New("read question: it is a " + asked.Kind.String())
	}
	return msghead.Compose(msghead.Draft{
		Type: asked.Info.Type, MsgID: uuid.NewString(), Generated: r.now(), Sender: asked.Info.Receiver, Receiver: asked.Info.Sender,
		Conversation: msghead.Conversation{RefToParent: asked.Info.MsgID, RefToConversation: asked.Info.MsgID},
		Topic:        msghead.Code{V: "BA", DN: "Answer"}, Question: "The desk is open from eight to five.",
	})
}
