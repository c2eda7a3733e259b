package demo

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"schakel/delivery/amqp/msghead"
)

// parentHer gives the difference between the HER-id of an organisation and that of its service.
const parentHer = 1_000_000

// letter is a business message that is made up.
type letter struct {
	from, to Identity
	subject  string
	id       string // MsgId
	text     string
	answers  string // the MsgId that it answers, which began the conversation
}

// write makes the document.
func (l letter) write(now time.Time) ([]byte, error) {
	draft := msghead.Draft{
		Type: msghead.Code{V: l.subject, DN: subjectText(l.subject)}, MsgID: l.id, Generated: now,
		Sender: headParty(l.from), Receiver: headParty(l.to), Topic: msghead.Code{V: "BA", DN: "Question"}, Question: l.text,
	}
	if l.answers != "" {
		draft.Conversation = msghead.Conversation{RefToParent: l.answers, RefToConversation: l.answers}
	}
	document, err := msghead.Compose(draft)
	if err != nil {
		return nil, fmt.Errorf("write message of %s: %w", l.from.Name, err)
	}
	return document, nil
}

func headParty(i Identity) msghead.Party {
	return msghead.Party{
		Organisation: msghead.Unit{Name: i.Name, Idents: her(i.HerID + parentHer)},
		Unit:         &msghead.Unit{Name: "Dialogue of " + i.Name, Idents: her(i.HerID)},
	}
}

func her(id int) []msghead.Ident {
	return []msghead.Ident{{ID: strconv.Itoa(id), Type: msghead.Code{V: msghead.TypeHER}}}
}

var (
	//go:embed amqp-house-rules.xsd
	houseRules []byte
	//go:embed amqp-house-question.xsd
	houseQuestion []byte
)

// WriteSchemas writes the schemas of the second Schakel to a folder: house rules of its own, which the first does not know,
// so that it refuses some messages by a negative AppRec (AMQP-111).
func WriteSchemas(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write schemas: %w", err)
	}
	for name, content := range map[string][]byte{"house-rules.xsd": houseRules, "house-question.xsd": houseQuestion} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return fmt.Errorf("write schemas: %w", err)
		}
	}
	return nil
}
