package services

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/contracts/lint"
	"schakel/registry/partners"
	"schakel/registry/profile"
	"schakel/store"
)

func (w *world) setSetting(t *testing.T, key, value string) {
	t.Helper()
	_, _, err := w.Profile.Save(t.Context(), w.admin, profile.ProfileChange{Values: map[string]string{key: value}, Reason: "for the test"})
	must(t, err)
}

// A partner registers what it draws up and maintains, and asks for publication; an administrator decides.
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

// A draft that was kept when references to other files were let pass is incomplete like one that is uploaded now.
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

const scoredAPI = `openapi: 3.2.0
info: {title: Students, version: 1.0.0}
servers: [{url: https://api.example.nl/v1}]
paths:
  /students:
    get: {responses: {'200': {description: All., headers: {API-Version: {schema: {type: string}}}}}}
`

// Advice is of who may see the version, is the same each time, and stops a publication only where the chain chose so.
//
// Rules: EDU-21.
func TestAdviceAndTheScoreToPublish(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		in := contractInput("students-api")
		in.Kind = "openapi"
		_, err := w.Contracts.Create(ctx, w.admin, in)
		must(t, err)
		_, err = w.Contracts.Upload(ctx, w.admin, in.ID, contracts.Upload{Content: []byte(scoredAPI)})
		must(t, err)
		v, report, err := w.Advice.On(ctx, registry.Reader{Administrator: true}, in.ID, "1.0.0")
		must(t, err)
		if o, _ := report.Outcome("doc-openapi-contact"); v.Version != "1.0.0" || o.State != lint.Fails || report.Score >= 100 {
			t.Errorf("%s: %d %+v", v.Version, report.Score, o)
		}
		_, again, err := w.Advice.On(ctx, registry.Reader{Administrator: true}, in.ID, "1.0.0")
		if err != nil || again.Score != report.Score {
			t.Errorf("then %d, %v", again.Score, err)
		}
		if _, _, err := w.Advice.On(ctx, registry.Reader{}, in.ID, "1.0.0"); err == nil {
			t.Error("everybody sees a draft")
		}

		w.setSetting(t, "register.min_score", "100")
		_, err = w.publish(ctx, w.admin, in.ID, "1.0.0", "")
		if e, ok := errors.AsType[*registry.Error](err); !ok || e.Code != registry.CodeConflict || !strings.Contains(e.Message.String(), "100") {
			t.Errorf("published below the score: %v", err)
		}
		good := strings.Replace(scoredAPI, "version: 1.0.0}", "version: 1.0.0, contact: {name: A, email: a@example.nl, url: https://example.nl}}", 1)
		_, err = w.Contracts.Upload(ctx, w.admin, in.ID, contracts.Upload{Content: []byte(good)})
		must(t, err)
		if _, err = w.publish(ctx, w.admin, in.ID, "1.0.0", ""); err != nil {
			t.Errorf("not published: %v", err)
		}
	})
}

// A breaking change needs a major version, or a reason.
func TestPublishBreaking(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.catalogue(t) // version 1.0.0
		upload := func(version string, types ...string) {
			t.Helper()
			_, err := w.Contracts.Upload(ctx, w.admin, "student-events", contracts.Upload{Content: asyncDocument(version, types...)})
			must(t, err)
		}
		upload("1.1.0", "nl.example.student.moved") // the types of 1.0.0 are gone
		_, err := w.publish(ctx, w.admin, "student-events", "1.1.0", "")
		refused, ok := errors.AsType[*contracts.BreakingChangeError](err)
		if !ok || len(refused.Breaking) == 0 || refused.Before.Version != "1.0.0" || refused.Suggested != "2.0.0" || fieldsOf(err)["reason"] == "" {
			t.Fatalf("got %v, %+v", err, refused)
		}
		if v, _ := w.db.ContractVersion(ctx, "student-events", "1.1.0"); v.Status != store.VersionDraft {
			t.Errorf("the refused version is %s", v.Status)
		}
		for _, reason := range []string{" ", "no"} {
			if _, err := w.publish(ctx, w.admin, "student-events", "1.1.0", reason); fieldsOf(err)["reason"] == "" {
				t.Errorf("reason %q: %v", reason, err)
			}
		}
		upload("1.2.0-rc.1", "nl.example.student.moved")
		_, err = w.publish(ctx, w.admin, "student-events", "1.2.0-rc.1", "")
		must(t, err)
		upload("2.0.0", "nl.example.student.moved")
		_, err = w.publish(ctx, w.admin, "student-events", "2.0.0", "")
		must(t, err)
		// 2.0.0 does not count: 1.1.0 follows 1.0.0.
		v, err := w.publish(ctx, w.admin, "student-events", "1.1.0", " Nobody used it. ")
		if err != nil || v.Status != store.VersionPublished || v.StatusReason != "Nobody used it." {
			t.Errorf("got %+v, %v", v, err)
		}
		upload("1.2.0", "nl.example.student.moved", enrolled)
		_, err = w.publish(ctx, w.admin, "student-events", "1.2.0", "")
		must(t, err)
	})
}

// Who is bound is told of approved subscriptions, and to administrators only.
func TestBoundBy(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.catalogue(t)
		_, actor, other, stranger := w.twoPartners(t)
		sub := w.subscribe(t, actor, w.endpoint(t, actor).ID, enrolled)
		waiting := w.subscribe(t, stranger, w.endpoint(t, stranger).ID, enrolled)
		must(t, w.Subscriptions.Approve(ctx, w.admin, sub.ID))
		bound, err := w.Contracts.BoundBy(ctx, w.admin, []string{enrolled, leftEvent})
		if err != nil || len(bound) != 1 || bound[0].ID != sub.ID || len(bound[0].Affects) != 1 {
			t.Errorf("got %+v, %v; %s of %s waits", bound, err, waiting.ID, other.Name)
		}
		_, err = w.Contracts.BoundBy(ctx, actor, []string{enrolled})
		wantCode(t, "a partner asks", registry.CodeForbidden, err)
	})
}

func TestPreviewOfFirst(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, err := w.Contracts.Create(ctx, w.admin, contractInput("student-events"))
		must(t, err)
		_, err = w.Contracts.Upload(ctx, w.admin, "student-events", contracts.Upload{Content: asyncDocument("1.0.0", enrolled)})
		must(t, err)
		p, err := w.Contracts.Preview(ctx, registry.Reader{Administrator: true, Internal: true}, "student-events", "1.0.0")
		if err != nil || p.Before.ID != "" || p.NeedsReason {
			t.Errorf("got %+v, %v", p, err)
		}
		_, err = w.Contracts.Preview(ctx, registry.Reader{}, "student-events", "1.0.0")
		wantCode(t, "a draft", registry.CodeNotFound, err)
	})
}

// Before a version is withdrawn one sees who is hit, and who of them goes on with
// another version; a partner sees no other partners.
//
// Rules: EDU-06c, EDU-08.
func TestWithdrawalTellsWhoIsHit(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, actor, _, stranger := w.twoPartners(t)
		w.catalogue(t)
		fixed := w.subscribe(t, actor, w.endpoint(t, actor).ID, enrolled)
		w.publishVersion(t, "2.0.0", enrolled)
		any, err := w.Subscriptions.Request(ctx, stranger, partners.SubscriptionRequest{
			EndpointID: w.endpoint(t, stranger).ID, Types: []string{enrolled}, Versions: map[string]string{enrolled: registry.AnyVersion}, Purpose: "keep our records right",
		})
		must(t, err)
		effect, err := w.Contracts.WithdrawalEffect(ctx, w.admin, "student-events", "1.0.0")
		must(t, err)
		loses := map[string]int{}
		for _, s := range effect.Subscriptions {
			loses[s.ID] = len(s.Loses)
			if s.Partner.Name == "" || !slices.Equal(s.Affects, []string{enrolled}) {
				t.Errorf("%+v", s)
			}
		}
		if len(loses) != 2 || loses[fixed.ID] != 1 || loses[any.ID] != 0 || slices.Contains(effect.Last, enrolled) || !slices.Contains(effect.Last, leftEvent) {
			t.Errorf("effect %+v", effect)
		}
		newer, err := w.Contracts.WithdrawalEffect(ctx, w.admin, "student-events", "2.0.0")
		if err != nil || len(newer.Subscriptions) != 1 || newer.Subscriptions[0].ID != any.ID {
			t.Errorf("of 2.0.0: %+v, %v", newer, err)
		}
		_, err = w.Contracts.WithdrawalEffect(ctx, actor, "student-events", "1.0.0")
		wantCode(t, "who does not maintain it", registry.CodeForbidden, err)
		must(t, w.db.Write(ctx, func(tx *store.Tx) error {
			row, err := tx.Contract(ctx, "student-events")
			if err == nil {
				row.OwnerPartnerID = p.ID
				err = tx.UpdateContract(ctx, &row)
			}
			return err
		}))
		effect, err = w.Contracts.WithdrawalEffect(ctx, actor, "student-events", "1.0.0")
		if err != nil || len(effect.Subscriptions) != 1 || effect.Subscriptions[0].ID != fixed.ID || effect.Hidden != 1 {
			t.Errorf("for its owner: %+v, %v", effect, err)
		}
		_, err = w.Contracts.Withdraw(ctx, w.admin, "student-events", "1.0.0", "It leaked.")
		must(t, err)
		_, err = w.Contracts.WithdrawalEffect(ctx, w.admin, "student-events", "1.0.0")
		wantCode(t, "withdrawn already", registry.CodeConflict, err)
	})
}
