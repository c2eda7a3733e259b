package services

import (
	"bytes"
	"schakel/registry"
	"schakel/registry/contracts"
	"testing"
)

// Publishing, and asking for it, names the bytes: a draft that was replaced is not published, nor is one whose publication
// is asked for by the digest of the draft before.
//
// Rules: EDU-06b
func TestPublishNeedsTheDigestOfTheDraft(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, err := w.Contracts.Create(ctx, w.admin, contractInput("student-events"))
		must(t, err)
		reviewed, err := w.Contracts.Upload(ctx, w.admin, "student-events", contracts.Upload{Content: asyncDocument("1.0.0", enrolled)})
		must(t, err)
		publish := func(digest string) error {
			_, err := w.Contracts.Publish(ctx, w.admin, "student-events", "1.0.0", contracts.PublishInput{Digest: digest})
			return err
		}
		wantCode(t, "no digest", registry.CodeDigestMissing, publish(""))
		wantCode(t, "an empty digest", registry.CodeDigestMissing, publish("sha256:"))
		changed := asyncDocument("1.0.0", enrolled, leftEvent)
		now, err := w.Contracts.Upload(ctx, w.admin, "student-events", contracts.Upload{Content: changed})
		must(t, err)
		wantCode(t, "the draft before", registry.CodeDraftChanged, publish(reviewed.Digest))
		must(t, publish("sha256:"+now.Digest))
		_, content, err := w.Contracts.Original(ctx, registry.Reader{Administrator: true}, "student-events", "1.0.0")
		must(t, err)
		if !bytes.Equal(content, changed) {
			t.Error("other bytes are published")
		}
	})
}
