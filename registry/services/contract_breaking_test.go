package services

import (
	"errors"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/store"
)

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
