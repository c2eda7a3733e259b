package services

import (
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/store"
)

// The title and the description of a copy follow its source, but for what a person
// wrote here.
//
// Rules: EDU-06e, EDU-N05.
func TestMirrorFollowsTexts(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx, o := t.Context(), newOtherRegister(t)
		o.put("students", "1.0.0", "published", "a")
		o.describe("students", "Students", "")
		s := w.mirrors(t, o, nil)
		w.mirrored(t, s, contracts.MirrorScheduled, 1, 0, 0, 0, 0, 0)
		want := func(title, description string) {
			t.Helper()
			c, err := w.db.Contract(ctx, "noord-students")
			must(t, err)
			if c.Title != title || c.Description != description || c.Visibility != store.VisibilityInternal {
				t.Errorf("the copy is %q, %q, want %q, %q", c.Title, c.Description, title, description)
			}
		}
		want("Students", "")
		o.describe("students", "Students of schools", "All that are enrolled.")
		lines := w.mirrored(t, s, contracts.MirrorScheduled, 0, 1, 0, 0, 0, 0)
		want("Students of schools", "All that are enrolled.")
		if len(lines) != 1 || lines[0].Outcome != contracts.MirrorDescribed {
			t.Errorf("log %+v", lines)
		}
		_, total, err := w.db.Audits(ctx, store.AuditFilter{Action: registry.ActionCopyDescribed})
		must(t, err)
		if total != 1 {
			t.Errorf("%d entries in the audit trail", total)
		}
		w.mirrored(t, s, contracts.MirrorScheduled, 0, 1, 0, 0, 0, 0)

		c, err := w.db.Contract(ctx, "noord-students")
		must(t, err)
		_, err = w.Contracts.Update(ctx, w.admin, "noord-students", contracts.ContractInput{
			Kind: c.Kind, Title: "What Noord calls students", Description: c.Description, Owner: c.Owner, Visibility: c.Visibility,
		})
		must(t, err)
		o.describe("students", "Pupils", "All of them.")
		w.mirrored(t, s, contracts.MirrorScheduled, 0, 1, 0, 0, 0, 0)
		want("What Noord calls students", "All of them.")
	})
}

// A mirror that is removed leaves its copies, marked with their origin, and nothing else:
// its alarms are settled, and its name can be used again.
//
// Rules: EDU-N05.
func TestMirrorRemoved(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx, o := t.Context(), newOtherRegister(t)
		o.put("students", "1.0.0", "published", "a")
		s := w.mirrors(t, o, nil)
		w.mirrored(t, s, contracts.MirrorScheduled, 1, 0, 0, 0, 0, 0)
		o.put("students", "1.0.0", "published", "b")
		w.mirrored(t, s, contracts.MirrorScheduled, 0, 0, 1, 0, 0, 0)
		_, total, err := w.Mirrors.CopyPage(ctx, w.admin, s.ID, store.Page{Number: 1, Size: 1})
		must(t, err)
		if total != 1 {
			t.Errorf("%d copies", total)
		}
		wantCode(t, "by a stranger", registry.CodeForbidden, w.Mirrors.Remove(ctx, registry.Actor{PartnerID: "prt_x"}, s.ID, ""))
		wantCode(t, "with a long reason", registry.CodeInvalid, w.Mirrors.Remove(ctx, w.admin, s.ID, strings.Repeat("x", 1001)))
		wantCode(t, "remove", "", w.Mirrors.Remove(ctx, w.admin, s.ID, "Noord stops."))
		wantCode(t, "remove twice", registry.CodeNotFound, w.Mirrors.Remove(ctx, w.admin, s.ID, ""))
		_, err = w.Mirrors.Run(ctx, s.ID, contracts.MirrorScheduled)
		wantCode(t, "run", registry.CodeNotFound, err)
		_, _, err = w.Mirrors.CopyPage(ctx, w.admin, s.ID, store.Page{Number: 1, Size: 1})
		wantCode(t, "copies", registry.CodeNotFound, err)
		_, open, err := w.db.MirrorAsides(ctx, store.MirrorAsideFilter{Open: true})
		must(t, err)
		list, err := w.Mirrors.List(ctx, w.admin)
		must(t, err)
		if open != 0 || len(list) != 0 {
			t.Errorf("%d alarms and %d mirrors are left", open, len(list))
		}
		v, err := w.Contracts.Version(ctx, registry.Reader{Internal: true}, "noord-students", "1.0.0")
		must(t, err)
		if _, ok, err := w.Contracts.CopyOf(ctx, v); err != nil || !ok {
			t.Errorf("the copy does not tell where it comes from: %v", err)
		}
		again := w.mirrors(t, o, nil)
		w.mirrored(t, again, contracts.MirrorScheduled, 1, 0, 0, 0, 0, 0)
	})
}

// A draft that waited while its source deprecated it is deprecated as soon as it is
// published, and follows when the source takes that back.
//
// Rules: EDU-06d, EDU-N06.
func TestMirrorDraftFollowsItsSourceWhenPublished(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx, o := t.Context(), newOtherRegister(t)
		o.put("students", "1.0.0", "published", "a")
		s := w.mirrors(t, o, nil)
		w.mirrored(t, s, contracts.MirrorScheduled, 1, 0, 0, 0, 0, 0)
		_, err := w.Contracts.SetVisibility(ctx, w.admin, "noord-students", contracts.VisibilityChange{Visibility: store.VisibilityPublic, Reason: "Agreed with Noord."})
		must(t, err)
		o.put("students", "1.1.0", "published", "b")
		w.mirrored(t, s, contracts.MirrorScheduled, 1, 1, 0, 0, 0, 0)
		o.put("students", "1.1.0", "deprecated", "b")
		w.mirrored(t, s, contracts.MirrorScheduled, 0, 2, 0, 0, 1, 0)
		v, err := w.publish(ctx, w.admin, "noord-students", "1.1.0", "")
		must(t, err)
		if v.Status != store.VersionDeprecated || v.DeprecatedAt.IsZero() || !strings.HasPrefix(v.StatusReason, "At the source: ") {
			t.Errorf("published as %+v", v)
		}
		audits, _, err := w.db.Audits(ctx, store.AuditFilter{ObjectID: "noord-students"})
		must(t, err)
		if audits[0].Action != registry.ActionContractDeprecated || audits[1].Action != registry.ActionContractPublished {
			t.Errorf("the audit trail tells %s, %s", audits[1].Action, audits[0].Action)
		}
		o.put("students", "1.1.0", "published", "b")
		w.mirrored(t, s, contracts.MirrorScheduled, 0, 2, 0, 0, 1, 0)
		if v, err = w.db.ContractVersion(ctx, "noord-students", "1.1.0"); err != nil || v.Status != store.VersionPublished {
			t.Errorf("after the source took it back: %s, %v", v.Status, err)
		}
	})
}
