package services

import (
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
)

// What changed is told since the newest release below a version, not since a pre-release between them.
//
// Rules: EDU-08
func TestPairSkipsPreReleases(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, err := w.Contracts.Create(ctx, w.admin, contractInput("student-events"))
		must(t, err)
		publish := func(version string) {
			t.Helper()
			_, err := w.Contracts.Upload(ctx, w.admin, "student-events", contracts.Upload{Content: asyncDocument(version, enrolled)})
			must(t, err)
			_, err = w.publish(ctx, w.admin, "student-events", version, "")
			must(t, err)
		}
		publish("1.0.0-rc.1")
		publish("1.0.0-rc.2")
		for version, want := range map[string]string{"1.0.0-rc.2": "1.0.0-rc.1"} { // no release is below it
			if before, _, err := w.Contracts.Pair(ctx, registry.Reader{Administrator: true}, "student-events", version, ""); err != nil || before.Version != want {
				t.Errorf("%s is compared with %q, %v", version, before.Version, err)
			}
		}
		for _, version := range []string{"1.0.0", "1.1.0-rc.1", "1.1.0-rc.2", "1.1.0"} {
			publish(version)
		}
		for version, want := range map[string]string{"1.0.0": "1.0.0-rc.2", "1.1.0-rc.2": "1.0.0", "1.1.0": "1.0.0"} {
			if before, _, err := w.Contracts.Pair(ctx, registry.Reader{Administrator: true}, "student-events", version, ""); err != nil || before.Version != want {
				t.Errorf("%s is compared with %q, %v", version, before.Version, err)
			}
		}
	})
}

// A mirror whose filter fits none of the contracts of its source says so.
func TestMirrorFilterThatMatchesNothing(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		o := newOtherRegister(t)
		o.put("students", "1.0.0", "published", "first")
		for pattern, want := range map[string]bool{"stduents": true, "students": false} {
			s := w.mirrors(t, o, func(in *contracts.MirrorInput) { in.Contracts, in.Name = []string{pattern}, pattern })
			run, err := w.Mirrors.Run(t.Context(), s.ID, contracts.MirrorScheduled)
			must(t, err)
			if got := strings.Contains(run.Error, "None of the 1 contracts"); got != want || want && !strings.Contains(run.Error, "the first of the source are students") {
				t.Errorf("%s: %q", pattern, run.Error)
			}
		}
	})
}
