package ingest_test

import (
	"errors"
	"testing"
	"time"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/ingest"
	"schakel/store"
)

// initial is a request to load groups into an empty dataset, or in place of what is there.
func (w *world) initial(key, replace string, s ingest.Source) ingest.Request {
	req := w.request(key, s)
	req.Kind, req.Replace = store.PublicationInitial, replace
	return req
}

// eventually waits until something is so.
func (w *world) eventually(so func() bool) {
	w.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for give := time.After(time.Minute); !so(); {
		select {
		case <-give:
			w.t.Fatal("it never came")
		case <-tick.C:
		}
	}
}

// What was cut off does not go on once what it brought was replaced: its rest would come in beside the new history.
// Rules: MUT-22, MUT-31, MUT-38.
func TestReplacedPublication(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		groups := []*format.Group{group(add("1", "", "a")), group(add("2", "", "b")), group(add("3", "", "c"))}
		half := func(replace string) {
			t.Helper()
			if _, err := w.ingester.Publish(w.ctx, w.initial("half "+replace, replace, &stream{groups: groups[:1], err: errCut})); !errors.Is(err, errCut) {
				t.Fatal(err)
			}
		}
		half("")
		if _, err := w.ingester.Publish(w.ctx, w.initial("whole", "a better history", of(groups...))); err != nil {
			t.Fatal(err)
		}
		if _, err := w.ingester.Publish(w.ctx, w.initial("half ", "", of(groups...))); !errors.Is(err, ingest.ErrReplaced) {
			t.Errorf("the first load goes on: %v", err)
		}
		half("again")
		if _, err := w.ingester.Publish(w.ctx, w.initial("whole again", "the best history", of(groups...))); err != nil {
			t.Fatal(err)
		}
		if _, err := w.ingester.Publish(w.ctx, w.initial("half again", "again", of(groups...))); !errors.Is(err, ingest.ErrReplaced) {
			t.Errorf("the replacing load goes on: %v", err)
		}
		if got := w.alive(); got != "1=a 2=b 3=c" {
			t.Error(got)
		}
		if r, err := w.ingester.Publish(w.ctx, w.initial("whole", "a better history", of(groups...))); err != nil || !r.Replayed {
			t.Errorf("what was whole is told again: %+v, %v", r, err)
		}
	})
}

// While a publication comes in another takes the place of what it brought: it ends there.
// Rules: MUT-22, MUT-38.
func TestReplacedMeanwhile(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		groups := []*format.Group{group(add("1", "", "a")), group(add("2", "", "b"))}
		slow := &stream{groups: groups}
		slow.before = func(at int) {
			if at < len(groups) {
				return
			}
			w.eventually(func() bool { return len(w.history()) == 2 })
			if _, err := w.ingester.Publish(w.ctx, w.initial("new", "a better history", of(group(add("9", "", "z"))))); err != nil {
				t.Error(err)
			}
			slow.groups = append(slow.groups, group(add("3", "", "c")))
			slow.before = nil
		}
		if _, err := w.ingester.Publish(w.ctx, w.request("old", slow)); !errors.Is(err, ingest.ErrReplaced) {
			t.Errorf("it goes on: %v", err)
		}
		if got := w.alive(); got != "9=z" {
			t.Error(got)
		}
	})
}

// Of two that replace a history at once the one that began last does.
// Rules: MUT-38.
func TestReplacingAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		first := of(group(add("1", "", "a")), group(add("2", "", "b")))
		first.before = func(at int) {
			if at != 1 {
				return
			}
			if _, err := w.ingester.Publish(w.ctx, w.initial("two", "the best history", of(group(add("9", "", "z"))))); err != nil {
				t.Error(err)
			}
		}
		if _, err := w.ingester.Publish(w.ctx, w.initial("one", "a better history", first)); !errors.Is(err, ingest.ErrReplaced) {
			t.Errorf("both come in: %v", err)
		}
		if got := w.alive(); got != "9=z" {
			t.Error(got)
		}
	})
}

// Of two initial loads that begin at once in an empty dataset one comes in.
// Rules: MUT-31.
func TestInitialLoadsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		groups := []*format.Group{group(add("1", "", "a")), group(add("2", "", "b"))}
		first := of(groups...)
		first.before = func(at int) {
			if at > 0 {
				return
			}
			if _, err := w.ingester.Publish(w.ctx, w.initial("two", "", of(groups...))); err != nil {
				t.Error(err)
			}
		}
		if _, err := w.ingester.Publish(w.ctx, w.initial("one", "", first)); !errors.Is(err, ingest.ErrNotEmpty) {
			t.Errorf("the other comes in too: %v", err)
		}
		if got := w.alive(); got != "1=a 2=b" {
			t.Error(got)
		}
	})
}
