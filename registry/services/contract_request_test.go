package services

import (
	"bytes"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/profile"
	"schakel/store"
)

// setSetting changes one setting of the profile.
func (w *world) setSetting(t *testing.T, key, value string) {
	t.Helper()
	_, _, err := w.Profile.Save(t.Context(), w.admin, profile.ProfileChange{Values: map[string]string{key: value}, Reason: "for the test"})
	must(t, err)
}

// A partner registers what it draws up and maintains, and asks for publication;
// an administrator decides.
//
// Rules: EDU-21, EDU-22, EDU-N03.
func TestPartnerAsksForPublication(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, actor, other, stranger := w.twoPartners(t)
		in := contractInput("noord-events")
		in.Owner, in.OwnerPartnerID = "Someone else", other.ID
		_, err := w.Contracts.Create(ctx, actor, in)
		wantCode(t, "for another partner", registry.CodeForbidden, err)
		in.OwnerPartnerID, in.Visibility, in.PartnerIDs = "", store.VisibilityNamed, []string{other.ID}
		_, err = w.Contracts.Create(ctx, actor, in)
		wantCode(t, "by name", registry.CodeInvalid, err)
		in.Visibility = store.VisibilityPartners
		c, err := w.Contracts.Create(ctx, actor, in)
		if err != nil || c.OwnerPartnerID != p.ID || c.Owner != p.Name {
			t.Fatalf("made %+v, %v", c, err)
		}
		pending := registry.Actor{Kind: registry.ActorAccount, PartnerID: w.register(t, "Wacht", "00000003223456780000", "x@wacht.example").ID}
		in.ID = "wacht-events"
		_, err = w.Contracts.Create(ctx, pending, in)
		wantCode(t, "not approved", registry.CodeForbidden, err)

		upload := func(title string) {
			t.Helper()
			content := strings.Replace(string(asyncDocument("1.0.0", enrolled)), "Students", title, 1)
			_, err := w.Contracts.Upload(ctx, actor, "noord-events", contracts.Upload{Content: []byte(content)})
			must(t, err)
		}
		upload("Students")
		_, err = w.publish(ctx, stranger, "noord-events", "1.0.0", "")
		wantCode(t, "stranger asks", registry.CodeNotFound, err)
		asked, err := w.publish(ctx, actor, "noord-events", "1.0.0", "it is ready")
		if err != nil || asked.Status != store.VersionDraft || asked.RequestedAt.IsZero() || asked.RequestedBy != actor.Name {
			t.Fatalf("asked %+v, %v", asked, err)
		}
		_, err = w.publish(ctx, actor, "noord-events", "1.0.0", "")
		wantCode(t, "asks again", registry.CodeConflict, err)
		if mails := w.mailsTo(t, "admin@example.nl"); !strings.Contains(mails[0].Body, "it is ready") {
			t.Errorf("mailed %s", mails[0].Body)
		}
		_, _, err = w.Contracts.Requested(ctx, actor, store.Page{})
		wantCode(t, "partner lists", registry.CodeForbidden, err)
		waiting, total, err := w.Contracts.Requested(ctx, w.admin, store.Page{Number: 1, Size: 10})
		if err != nil || total != 1 || len(waiting) != 1 || waiting[0].Contract.ID != "noord-events" || waiting[0].RequestReason != "it is ready" {
			t.Fatalf("waiting %+v, %v", waiting, err)
		}

		_, err = w.Contracts.RefusePublication(ctx, actor, "noord-events", "1.0.0", "no no")
		wantCode(t, "partner refuses", registry.CodeForbidden, err)
		_, err = w.Contracts.RefusePublication(ctx, w.admin, "noord-events", "1.0.0", "")
		wantCode(t, "no reason", registry.CodeInvalid, err)
		_, err = w.Contracts.RefusePublication(ctx, w.admin, "noord-events", "1.0.0", "no example")
		must(t, err)
		if mails := w.mailsTo(t, "anna@noord.example"); !strings.Contains(mails[0].Body, "no example") {
			t.Errorf("mailed %s", mails[0].Body)
		}
		_, err = w.Contracts.RefusePublication(ctx, w.admin, "noord-events", "1.0.0", "no example")
		wantCode(t, "refuse again", registry.CodeConflict, err)

		_, err = w.publish(ctx, actor, "noord-events", "1.0.0", "")
		must(t, err)
		upload("Pupils") // another document: nobody asked for that
		if waiting, total, err = w.Contracts.Requested(ctx, w.admin, store.Page{Number: 1, Size: 10}); err != nil || total+len(waiting) != 0 {
			t.Errorf("waiting %+v, %v", waiting, err)
		}
		_, err = w.publish(ctx, actor, "noord-events", "1.0.0", "")
		must(t, err)
		published, err := w.publish(ctx, w.admin, "noord-events", "1.0.0", "")
		if err != nil || published.Status != store.VersionPublished || published.RequestedBy != actor.Name {
			t.Errorf("published %+v, %v", published, err)
		}
		if mails := w.mailsTo(t, "anna@noord.example"); !strings.Contains(mails[0].Subject, "is published") {
			t.Errorf("mailed %s", mails[0].Subject)
		}
	})
}

// Where the chain lets partners publish, the owner does, and nobody else.
//
// Rules: EDU-21, OPEN-06.
func TestPartnerPublishesItself(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, actor, _, stranger := w.twoPartners(t)
		itself, err := w.Contracts.PublishesItself(ctx, actor)
		if err != nil || itself {
			t.Errorf("by default: %t, %v", itself, err)
		}
		w.setSetting(t, "register.partner_publication", registry.PublicationDirect)
		_, err = w.Contracts.Create(ctx, actor, contractInput("noord-events"))
		must(t, err)
		_, err = w.Contracts.Upload(ctx, actor, "noord-events", contracts.Upload{Content: asyncDocument("1.0.0", enrolled)})
		must(t, err)
		_, err = w.publish(ctx, stranger, "noord-events", "1.0.0", "")
		wantCode(t, "stranger", registry.CodeNotFound, err)
		v, err := w.publish(ctx, actor, "noord-events", "1.0.0", "")
		if err != nil || v.Status != store.VersionPublished || v.PublishedBy != actor.Name {
			t.Errorf("published %+v, %v", v, err)
		}
		for _, step := range []struct {
			name string
			do   func() (store.ContractVersion, error)
		}{
			{"upload by a stranger", func() (store.ContractVersion, error) {
				return w.Contracts.Upload(ctx, stranger, "noord-events", contracts.Upload{Content: asyncDocument("1.1.0", enrolled)})
			}},
			{"withdraw by a stranger", func() (store.ContractVersion, error) {
				return w.Contracts.Withdraw(ctx, stranger, "noord-events", "1.0.0", "because")
			}},
		} {
			_, err := step.do()
			wantCode(t, step.name, registry.CodeNotFound, err)
		}
	})
}

// A draft that was kept when references to other files were let pass is incomplete
// like one that is uploaded now.
func TestOldDraftIsIncomplete(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, err := w.Contracts.Create(ctx, w.admin, contractInput("student-events"))
		must(t, err)
		v := store.ContractVersion{
			ContractID: "student-events", Version: "1.0.0", SortKey: registry.VersionSortKey("1.0.0"), Status: store.VersionDraft, SpecVersion: "3.1.0",
			Format: "yaml", Original: []byte(splitContract), Size: int64(len(splitContract)), Digest: hexDigest([]byte(splitContract)),
			Findings: `[{"severity":"warning","code":"reference-outside","pointer":"/channels","line":7,"detail":"It leads outside."}]`,
		}
		must(t, w.db.Write(ctx, func(tx *store.Tx) error { return tx.InsertContractVersion(ctx, &v) }))
		_, err = w.publish(ctx, w.admin, "student-events", "1.0.0", "")
		wantCode(t, "publish", registry.CodeConflict, err)
		if err == nil || !strings.Contains(err.Error(), "lacks what 1 references lead to") {
			t.Errorf("got %v", err)
		}
		v.Status = store.VersionPublished // what was published stays as it was judged
		if list, err := contracts.Findings(v); err != nil || list[0].Severity != "warning" {
			t.Errorf("got %v, %v", list, err)
		}
	})
}

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
