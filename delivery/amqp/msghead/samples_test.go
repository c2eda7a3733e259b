package msghead_test

import (
	"testing"
	"time"

	"schakel/delivery/amqp/msghead"
	"schakel/store/needs"
)

// sample reads a message that another party made.
func sample(t testing.TB, name string) []byte {
	t.Helper()
	return needs.File(t, "amqp", "samples", name)
}

// party is an organisation with a HER-id.
func party(name, her string) msghead.Party {
	return msghead.Party{Organisation: msghead.Unit{Name: name, Idents: []msghead.Ident{
		{ID: her, Type: msghead.Code{V: "HER", S: "2.16.578.1.12.4.1.1.9051", DN: "HER-id"}},
	}}}
}

// draft is a question of party 100 to party 200.
func draft() msghead.Draft {
	return msghead.Draft{
		Type: msghead.Code{V: "DIALOG_INNBYGGER_EKONTAKT", DN: "Dialog med innbygger - eKontakt"}, MsgID: "m-1",
		Generated: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		Sender:    party("Legekontoret", "100"), Receiver: party("Sykehuset", "200"),
		Topic: msghead.Code{V: "BA", S: "2.16.578.1.12.4.1.1.7601", DN: "Bestille attest"}, Question: "Blåbær & < 5?",
	}
}

// compose writes a draft.
func compose(t testing.TB, d msghead.Draft) []byte {
	t.Helper()
	doc, err := msghead.Compose(d)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}
