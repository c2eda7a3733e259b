package contracts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"schakel/registry"
	"schakel/registry/contracts/lint"
	"schakel/store"
)

func TestPromisesNoBreak(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		before, after string
		want          bool
	}{
		{"1.0.0", "1.0.1", true},
		{"1.0.0", "1.1.0", true},
		{"1.0.0", "1.1.0+build.1", true},
		{"1.9.0", "2.0.0", false},
		{"1.0.0", "1.1.0-rc.1", false},
		{"0.1.0", "0.1.1", true},
		{"0.1.0", "0.2.0", false},
		{"0.9.0", "1.0.0", false},
	} {
		if got := promisesNoBreak(tt.before, tt.after); got != tt.want {
			t.Errorf("%s to %s: %v", tt.before, tt.after, got)
		}
	}
}

// What is kept of advice has a bound.
func TestAdviceIsKeptWithinABound(t *testing.T) {
	t.Parallel()
	a := NewAdvice(nil)
	for i := range 3000 {
		a.cache(string(rune('a'+i%26))+strings.Repeat("x", i), lint.Report{})
	}
	if a.size > maxCachedFindings || len(a.cached) > maxCachedFindings/50 {
		t.Errorf("%d kept, %d findings", len(a.cached), a.size)
	}
}

func TestDownloadsThatWaitAreBounded(t *testing.T) {
	t.Parallel()
	d := NewDownloads(registry.Config{Now: time.Now})
	for i := range maxDownloads + 10 {
		d.Note(store.ContractVersion{ID: "cvr_1"}, Downloader{Kind: store.DownloadClient, ID: fmt.Sprint(i), PartnerID: "par_1"})
	}
	if rows, _ := d.take(); len(rows) != maxDownloads {
		t.Errorf("%d wait", len(rows))
	}
}

func TestCopyNames(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"1.0.0": "1.0.0", "v1.2.3": "1.2.3", "2": "2.0.0", "2.1": "2.1.0", "v3": "3.0.0", "1-rc": "1-rc", "x": "x", "": "", "1.0.0-rc.1": "1.0.0-rc.1"} {
		if got := copyVersion(in); got != want {
			t.Errorf("version %q is %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"students": "noord-students", "My Group/API v2": "noord-my-group-api-v2", "": "", "日本": ""} {
		ids := copyIDs("noord", "mir_1", in)
		if want != "" && ids[0] != want {
			t.Errorf("id of %q is %v", in, ids)
		}
		for _, id := range append(ids, copyIDs(strings.Repeat("p", maxMirrorPrefix), "mir_1", strings.Repeat("long/", 60))...) {
			if text := checkContractID(id); text != "" {
				t.Errorf("id %q: %s", id, text)
			}
		}
	}
	for _, c := range []struct {
		pattern, id string
		want        bool
	}{{"a", "a", true}, {"a", "ab", false}, {"a*", "a/b", true}, {"*b*", "abc", true}, {"a*a", "a", false}, {"*", "", true}, {"a*c*e", "abcde", true}, {"a*c*e", "abde", false}} {
		if fitsPattern(c.pattern, c.id) != c.want {
			t.Errorf("pattern %q and %q", c.pattern, c.id)
		}
	}
}

func TestTurnsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		var leave func()
		for range cap(turns) {
			var err error
			if leave, err = turns.take(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		refused := make(chan error, 1)
		go func() {
			_, err := turns.take(ctx)
			refused <- err
		}()
		synctest.Wait()
		select {
		case err := <-refused:
			t.Fatalf("one more got a turn: %v", err)
		default:
		}
		cancel()
		if err := <-refused; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		leave()
		if _, err := turns.take(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
