package services

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/store"
	"schakel/templates/i18n"
)

// Rules: EDU-06e, EDU-N05, EDU-N06.
func TestMirrorCopiesAndNeverReplaces(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx, o := t.Context(), newOtherRegister(t)
		o.put("students", "1.0.0", "published", "first")
		o.put("students", "1.1.0", "deprecated", "second")
		o.put("private", "1.0.0", "published", "not wanted")
		o.put("back", "1.0.0", "published", "ours")
		o.copyOf["back"] = "https://schakel.example/contracts/back"
		s := w.mirrors(t, o, func(in *contracts.MirrorInput) { in.Contracts = []string{"stud*", "back"} })

		lines := w.mirrored(t, s, contracts.MirrorScheduled, 2, 0, 0, 0, 1, 0)
		if len(lines) != 4 {
			t.Errorf("log %+v", lines)
		}
		c, err := w.Contracts.Get(ctx, registry.Reader{Administrator: true, Internal: true}, "noord-students")
		must(t, err)
		if c.Visibility != store.VisibilityInternal || c.Owner != "Noord" || c.OwnerPartnerID != "" {
			t.Errorf("copy %+v", c)
		}
		_, err = w.Contracts.Get(ctx, registry.Reader{}, "noord-students")
		wantCode(t, "a copy is internal", registry.CodeNotFound, err)
		v, content, err := w.Contracts.Original(ctx, registry.Reader{Internal: true}, "noord-students", "1.0.0")
		must(t, err)
		if string(content) != o.contracts["students"]["1.0.0"].body || v.Status != store.VersionPublished {
			t.Errorf("copied %s %q", v.Status, content)
		}
		from, ok, err := w.Contracts.CopyOf(ctx, v)
		must(t, err)
		if !ok || from.Digest != v.Digest || from.OriginURL != o.URL+"/registry/v1/contracts/students/versions/1.0.0/original" || from.FetchedAt.IsZero() {
			t.Errorf("origin %+v", from)
		}
		if v, _ = w.db.ContractVersion(ctx, "noord-students", "1.1.0"); v.Status != store.VersionDeprecated {
			t.Errorf("a version that is deprecated at the source is %s here", v.Status)
		}

		w.mirrored(t, s, contracts.MirrorScheduled, 0, 2, 0, 0, 0, 0)
		o.put("students", "1.0.0", "published", "other words")
		lines = w.mirrored(t, s, contracts.MirrorScheduled, 0, 1, 1, 0, 0, 0)
		if lines[len(lines)-1].Outcome != contracts.MirrorChanged && lines[0].Outcome != contracts.MirrorChanged {
			t.Errorf("log %+v", lines)
		}
		_, again, err := w.Contracts.Original(ctx, registry.Reader{Internal: true}, "noord-students", "1.0.0")
		must(t, err)
		if string(again) != string(content) {
			t.Error("other bytes replaced a copy")
		}
		w.checkAlarm(t, o, s)
	})
}

// checkAlarm looks at the one alarm there is, and settles it.
func (w *world) checkAlarm(t *testing.T, o *otherRegister, s store.MirrorSource) {
	t.Helper()
	ctx := t.Context()
	alarms, total, err := w.Mirrors.Alarms(ctx, w.admin, store.MirrorAsideFilter{SourceID: s.ID, Open: true})
	must(t, err)
	if total != 1 {
		t.Fatalf("%d alarms", total)
	}
	_, aside, err := w.Mirrors.AlarmContent(ctx, w.admin, s.ID, alarms[0].ID)
	must(t, err)
	if string(aside) != o.contracts["students"]["1.0.0"].body {
		t.Errorf("kept aside %q", aside)
	}
	changes, err := w.Mirrors.AlarmChanges(ctx, w.admin, s.ID, alarms[0].ID)
	must(t, err)
	if len(changes) == 0 {
		t.Error("the comparison with the copy tells nothing")
	}
	mails := w.mailsTo(t, "admin@example.nl")
	if len(mails) == 0 || !strings.Contains(mails[0].Body, "/admin/mirrors/"+s.ID+"/alarms/"+alarms[0].ID) {
		t.Errorf("administrators got %+v", mails)
	}
	// The same bytes again are the same alarm, and nobody is told twice.
	w.mirrored(t, s, "Anna", 0, 1, 1, 0, 0, 0)
	if again := w.mailsTo(t, "admin@example.nl"); len(again) != len(mails) {
		t.Errorf("%d mails about one alarm", len(again)-len(mails)+1)
	}
	wantCode(t, "without a reason", registry.CodeInvalid, w.Mirrors.Settle(ctx, w.admin, s.ID, alarms[0].ID, " "))
	wantCode(t, "settle", "", w.Mirrors.Settle(ctx, w.admin, s.ID, alarms[0].ID, "They mended a word."))
	wantCode(t, "settle twice", registry.CodeConflict, w.Mirrors.Settle(ctx, w.admin, s.ID, alarms[0].ID, "Once more."))
	audits, _, err := w.db.Audits(ctx, store.AuditFilter{Action: registry.ActionCopyDiffers})
	must(t, err)
	if len(audits) != 1 {
		t.Errorf("%d entries in the audit trail", len(audits))
	}
}

// What a source says in the end: withdrawn, gone, and back.
func TestMirrorMarks(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx, o := t.Context(), newOtherRegister(t)
		for _, number := range []string{"1.0.0", "1.1.0"} {
			o.put("students", number, "published", number)
		}
		s := w.mirrors(t, o, nil)
		w.mirrored(t, s, contracts.MirrorScheduled, 2, 0, 0, 0, 0, 0)
		check := func(number, status, atSource string) {
			t.Helper()
			v, err := w.db.ContractVersion(ctx, "noord-students", number)
			must(t, err)
			from, _, err := w.Contracts.CopyOf(ctx, v)
			must(t, err)
			if v.Status != status || from.SourceStatus != atSource {
				t.Errorf("%s is %s here and %s at the source, want %s and %s", number, v.Status, from.SourceStatus, status, atSource)
			}
		}
		o.drop("students", "1.0.0")
		o.put("students", "1.1.0", "deprecated", "1.1.0")
		w.mirrored(t, s, contracts.MirrorScheduled, 0, 1, 0, 0, 2, 0)
		check("1.0.0", store.VersionDeprecated, store.VersionWithdrawn)
		check("1.1.0", store.VersionDeprecated, store.VersionDeprecated)
		w.mirrored(t, s, contracts.MirrorScheduled, 0, 1, 0, 0, 0, 0)
		o.put("students", "1.1.0", "published", "1.1.0")
		w.mirrored(t, s, contracts.MirrorScheduled, 0, 1, 0, 0, 1, 0)
		check("1.1.0", store.VersionPublished, store.VersionPublished)

		o.drop("students", "")
		w.mirrored(t, s, contracts.MirrorScheduled, 0, 0, 0, 0, 1, 0)
		w.mirrored(t, s, contracts.MirrorScheduled, 0, 0, 0, 0, 0, 0)
		origins, err := w.Contracts.Origins(ctx, "noord-students")
		must(t, err)
		if origins["noord-students"].GoneAt.IsZero() {
			t.Error("a contract that is gone at its source is not marked")
		}
		check("1.1.0", store.VersionPublished, store.VersionPublished)
		o.put("students", "1.1.0", "published", "1.1.0")
		w.mirrored(t, s, contracts.MirrorScheduled, 0, 1, 0, 0, 1, 0)
	})
}

// A contract of ours that others see gets nothing new without a person (EDU-06d), and a
// copy is changed by its source alone (EDU-N05).
//
// Rules: EDU-06d, EDU-N05, EDU-N06.
func TestMirrorNeedsAPersonToShow(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx, o := t.Context(), newOtherRegister(t)
		o.put("students", "1.0.0", "published", "a")
		s := w.mirrors(t, o, nil)
		w.mirrored(t, s, contracts.MirrorScheduled, 1, 0, 0, 0, 0, 0)
		_, err := w.Contracts.SetVisibility(ctx, w.admin, "noord-students", contracts.VisibilityChange{Visibility: store.VisibilityPublic, Reason: "Agreed with Noord."})
		must(t, err)
		o.put("students", "1.1.0", "published", "b")
		w.mirrored(t, s, contracts.MirrorScheduled, 1, 1, 0, 0, 0, 0)
		latest, err := w.Contracts.Version(ctx, registry.Reader{}, "noord-students", registry.Latest)
		must(t, err)
		v, err := w.db.ContractVersion(ctx, "noord-students", "1.1.0")
		must(t, err)
		if latest.Version != "1.0.0" || v.Status != store.VersionDraft || v.RequestedAt.IsZero() {
			t.Errorf("visitors see %s; the new version is %s", latest.Version, v.Status)
		}
		_, err = w.Contracts.Upload(ctx, w.admin, "noord-students", contracts.Upload{Version: "1.2.0", Content: []byte(o.contracts["students"]["1.0.0"].body)})
		wantCode(t, "upload to a copy", registry.CodeConflict, err)
		wantCode(t, "delete a draft of a copy", registry.CodeConflict, w.Contracts.DeleteDraft(ctx, w.admin, "noord-students", "1.1.0"))
		_, err = w.publish(ctx, w.admin, "noord-students", "1.1.0", "")
		wantCode(t, "publish a copy", "", err)
		w.mirrored(t, s, contracts.MirrorScheduled, 0, 2, 0, 0, 0, 0)
	})
}

func TestMirrorRefuses(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx, o := t.Context(), newOtherRegister(t)
		_, err := w.Contracts.Create(ctx, w.admin, contracts.ContractInput{ID: "noord-students", Kind: "openapi", Title: "Ours", Visibility: store.VisibilityInternal})
		must(t, err)
		o.put("students", "1.0.0", "published", "a")
		o.put("students", "x", "published", "no number")
		o.put("students", "2", "published", "another way to count")
		o.put("students", "3.0.0", "published", `raw:{"openapi":"3.1.0","info":{"title":"T"},"paths":{}}`)
		o.put("students", "4.0.0", "published", "raw:<html>")
		o.put("students", "5.0.0", "published", `raw:{"asyncapi":"3.0.0","info":{"title":"T","version":"5.0.0"}}`)
		s := w.mirrors(t, o, nil)
		run, err := w.Mirrors.Run(ctx, s.ID, contracts.MirrorScheduled)
		must(t, err)
		// 5.0.0 is of another kind than the version that was seen first.
		if run.Refused != 4 || run.Added != 2 {
			t.Errorf("run %+v", run)
		}
		if _, err := w.db.ContractVersion(ctx, "noord-students", "1.0.0"); err == nil {
			t.Error("a copy went into a contract of ours")
		}
		o.key = "another"
		run, err = w.Mirrors.Run(ctx, s.ID, contracts.MirrorScheduled)
		must(t, err)
		if !strings.Contains(run.Error, "another key") || run.Marked != 0 {
			t.Errorf("run %+v", run)
		}
		_, err = w.Mirrors.Update(ctx, w.admin, s.ID, func(in *contracts.MirrorInput) { in.Secret = "another" })
		must(t, err)
		if run, err = w.Mirrors.Run(ctx, s.ID, contracts.MirrorScheduled); err != nil || run.Error != "" {
			t.Errorf("with its key: %+v, %v", run, err)
		}
	})
}

func TestMirrorInput(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		good := contracts.MirrorInput{Name: "Noord", Kind: store.MirrorSchakel, URL: "https://noord.example", Secret: "sealed-secret", Schedule: "15 4 * * *", Enabled: true}
		for field, edit := range map[string]func(*contracts.MirrorInput){
			"name":      func(in *contracts.MirrorInput) { in.Name = "x" },
			"kind":      func(in *contracts.MirrorInput) { in.Kind = "ftp" },
			"url":       func(in *contracts.MirrorInput) { in.URL = "http://noord.example" },
			"urls":      func(in *contracts.MirrorInput) { in.Kind = store.MirrorURLs },
			"secret":    func(in *contracts.MirrorInput) { in.Secret = "two words" },
			"schedule":  func(in *contracts.MirrorInput) { in.Schedule = "@every 1s" },
			"contracts": func(in *contracts.MirrorInput) { in.Contracts = []string{strings.Repeat("x", 400)} },
			"prefix":    func(in *contracts.MirrorInput) { in.Prefix = "No_rd" },
			"partnerId": func(in *contracts.MirrorInput) { in.PartnerID = w.own.ID },
		} {
			in := good
			edit(&in)
			_, err := w.Mirrors.Create(ctx, w.admin, in)
			wantCode(t, field, registry.CodeInvalid, err)
			if e, ok := err.(*registry.Error); ok && e.Fields[field] == "" {
				t.Errorf("%s: %v", field, err)
			}
		}
		for _, schedule := range []string{"", "TZ=0", "CRON_TZ=", "never", "0 0 31 2 *", "* * * * *"} {
			if _, err := registry.ParseSchedule(schedule, 5*time.Minute); err == nil {
				t.Errorf("schedule %q is taken", schedule)
			}
		}
		_, partner := w.partner(t, "Scholengroep Noord", goodOIN, "anna@noord.example")
		_, err := w.Mirrors.Create(ctx, partner, good)
		wantCode(t, "a partner", registry.CodeForbidden, err)
		s, err := w.Mirrors.Create(ctx, w.admin, good)
		must(t, err)
		if strings.Contains(fmt.Sprintf("%+v", s), "sealed-secret") {
			t.Error("the key is stored in clear")
		}
		_, err = w.Mirrors.Create(ctx, w.admin, good)
		wantCode(t, "the same again", registry.CodeInvalid, err)
		_, err = w.Mirrors.Update(ctx, w.admin, s.ID, func(in *contracts.MirrorInput) { in.URL = "https://elsewhere.example" })
		wantCode(t, "another host with the same key", registry.CodeInvalid, err)
		_, err = w.Mirrors.Update(ctx, w.admin, s.ID, func(in *contracts.MirrorInput) {
			in.URL, in.NoSecret, in.Enabled = "https://elsewhere.example", true, false
		})
		wantCode(t, "another host without a key", "", err)
		wantCode(t, "run what is off", registry.CodeConflict, w.Mirrors.AskRun(ctx, w.admin, s.ID))
		for _, read := range []func() error{
			func() error { _, err := w.Mirrors.List(ctx, partner); return err },
			func() error { _, err := w.Mirrors.Get(ctx, partner, s.ID); return err },
			func() error { _, _, err := w.Mirrors.Runs(ctx, partner, s.ID, store.Page{}); return err },
			func() error { _, err := w.Mirrors.OneRun(ctx, partner, s.ID, "x"); return err },
			func() error { _, _, err := w.Mirrors.CopyPage(ctx, partner, s.ID, store.Page{}); return err },
			func() error { return w.Mirrors.Remove(ctx, partner, s.ID, "") },
			func() error { _, _, err := w.Mirrors.Alarms(ctx, partner, store.MirrorAsideFilter{}); return err },
			func() error { return w.Mirrors.AskRun(ctx, partner, s.ID) },
			func() error { return w.Mirrors.Settle(ctx, partner, s.ID, "x", "because") },
		} {
			wantCode(t, "a partner", registry.CodeForbidden, read())
		}
	})
}

func TestMirrorDue(t *testing.T) {
	t.Parallel()
	at := func(hour int) store.Time { return store.At(time.Date(2026, 5, 1, hour, 0, 0, 0, time.UTC)) }
	s := store.MirrorSource{Enabled: true, Schedule: "30 * * * *", CreatedAt: at(1)}
	asked := s
	asked.AskedAt, asked.AskedBy = at(5), "Anna"
	for name, c := range map[string]struct {
		s     store.MirrorSource
		seen  store.ClusterTask
		want  time.Time
		cause string
	}{
		"new":         {s, store.ClusterTask{}, at(1).Add(30 * time.Minute), contracts.MirrorScheduled},
		"ran":         {s, store.ClusterTask{StartedAt: at(3), FinishedAt: at(4)}, at(3).Add(30 * time.Minute), contracts.MirrorScheduled},
		"at work":     {asked, store.ClusterTask{StartedAt: at(3), LeaseUntil: at(4)}, at(4).Time, contracts.MirrorScheduled},
		"asked":       {asked, store.ClusterTask{StartedAt: at(3), FinishedAt: at(4)}, at(5).Time, "Anna"},
		"asked, done": {asked, store.ClusterTask{StartedAt: at(6), FinishedAt: at(7)}, at(6).Add(30 * time.Minute), contracts.MirrorScheduled},
		"off":         {store.MirrorSource{Schedule: "@daily"}, store.ClusterTask{}, time.Time{}, ""},
	} {
		if due, cause := contracts.MirrorDue(c.s, c.seen); !due.Equal(c.want) || cause != c.cause {
			t.Errorf("%s: %s %q, want %s %q", name, due, cause, c.want, c.cause)
		}
	}
}

// The title and the description of a copy follow its source, but for what a person wrote here.
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
		if v.Status != store.VersionDeprecated || v.DeprecatedAt.IsZero() || !strings.HasPrefix(i18n.Message(v.StatusReason).String(), "At the source: ") {
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
