package services

import (
	"schakel/registry/contracts"
	"testing"
)

// U+0000 may well stand in a document, and is no text to PostgreSQL: the document is kept as it is, with what is shown of
// it cleaned.
func TestContractWithNULInItsTexts(t *testing.T) {
	const document = `asyncapi: 3.0.0
info: {title: "a\0b", version: 1.0.0}
channels:
  c: {address: a, messages: {m: {name: nl.example.text, title: "x\0y", summary: "s\0", description: "d\0", contentType: application/json, payload: {type: string, pattern: "[^\0-\x1f]"}}}}
operations: {o: {action: send, channel: {$ref: '#/channels/c'}}}
`
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, err := w.Contracts.Create(ctx, w.admin, contractInput("student-events"))
		must(t, err)
		v, err := w.Contracts.Upload(ctx, w.admin, "student-events", contracts.Upload{Content: []byte(document)})
		must(t, err)
		if v.InfoTitle != "a\ufffdb" {
			t.Errorf("title %q", v.InfoTitle)
		}
		_, err = w.publish(ctx, w.admin, "student-events", "1.0.0", "")
		must(t, err)
		got, err := w.db.EventType(ctx, "nl.example.text")
		if err != nil || got.Title != "x\ufffdy" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
