package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"schakel/delivery/mutation/format"
)

// Rebuild sets when a copy is rebuilt from an initial delivery.
type Rebuild uint8

// When a copy is rebuilt.
const (
	RebuildNever  Rebuild = iota // what cannot go on is an error
	RebuildNeeded                // when it cannot go on: ErrReinitialise, ErrGap or ErrSettings
	RebuildNow                   // at once, and again when that is needed
)

// Follow brings the copy to where the source is: from an initial delivery when there is no copy yet, and then delta by
// delta, all of them in order (MUT-35). The report is complete also beside an error.
func (f *Follower) Follow(ctx context.Context, s Source, when Rebuild) (Report, error) {
	report := Report{Deliveries: []Applied{}}
	start := f.o.Now()
	err := f.follow(ctx, s, when, &report)
	if report.Seconds = f.o.Now().Sub(start).Seconds(); report.Seconds > 0 {
		report.PerSecond = float64(report.Counts.Groups) / report.Seconds
	}
	if c := f.copy; c != nil {
		report.Copy, report.Dataset, report.Lineage, report.DeltaID = c.Name, c.Dataset, c.Lineage, c.DeltaID
	}
	return report, err
}

func (f *Follower) follow(ctx context.Context, s Source, when Rebuild, report *Report) error {
	if err := f.bySource(ctx, s.Name()); err != nil {
		return err
	}
	if when == RebuildNow && f.copy != nil && f.copy.Generation > 0 {
		if err := f.rebuild(ctx, s, report); err != nil {
			return err
		}
	}
	for once := true; ; {
		d, err := f.next(ctx, s)
		if errors.Is(err, ErrUpToDate) {
			if _, err = f.atEnd(ctx, s, report); err == nil {
				return f.settled(ctx)
			}
		}
		if status, _ := statusOf(err); status == http.StatusForbidden {
			if end, _ := f.atEnd(ctx, s, report); end {
				return f.settled(ctx) // what there was can be read no more, and the copy has it
			}
		}
		if err == nil {
			err = f.Apply(ctx, *d, report)
		}
		if err == nil {
			continue
		}
		if !once || !f.rebuilds(err, when) {
			return err
		}
		once = false // a copy is rebuilt once a run
		report.note("the copy is made anew: " + err.Error())
		if err := f.rebuild(ctx, s, report); err != nil {
			return err
		}
	}
}

// rebuilds reports whether a copy that cannot go on is rebuilt. One in which an object came back is when that was asked for
// (MUT-46).
func (f *Follower) rebuilds(err error, when Rebuild) bool {
	if f.o.Reenter == ReenterInitial && f.copy != nil && f.copy.Reinitialise != "" && errors.Is(err, ErrReinitialise) {
		return true
	}
	return when != RebuildNever && (errors.Is(err, ErrReinitialise) || errors.Is(err, ErrGap) || errors.Is(err, ErrSettings))
}

// next gives what the copy needs: an initial delivery when there is none, or when one is under way.
func (f *Follower) next(ctx context.Context, s Source) (*Delivery, error) {
	c := f.copy
	if c == nil || c.Generation == 0 || c.UnderWay != nil && c.UnderWay.Type == format.Initial {
		d, err := s.Initial(ctx)
		if err == nil && c != nil && c.Generation > 0 && d.Type == format.Initial {
			d.Rebuild = true // what made it start again still holds
		}
		return d, err
	}
	if c.Reinitialise != "" {
		return nil, fault(ErrReinitialise, "%s", c.Reinitialise)
	}
	if err := c.checkSettings(f.settings("")); err != nil { // also when there is nothing new
		return nil, err
	}
	return s.Next(ctx, *c)
}

func (f *Follower) rebuild(ctx context.Context, s Source, report *Report) error {
	if r, ok := s.(interface{ rewind() }); ok {
		r.rewind()
	}
	d, err := s.Initial(ctx)
	if err != nil {
		return fmt.Errorf("make the copy anew: %w", err)
	}
	d.Rebuild = true
	return f.Apply(ctx, *d, report)
}

// settled notes that the source had nothing more, so that deltas from now on cannot be in the initial delivery.
func (f *Follower) settled(ctx context.Context) error {
	if f.copy == nil || f.copy.OverlapUntil == "" {
		return nil
	}
	return f.change(ctx, func(_ *transaction, c *Copy) error {
		c.OverlapUntil = ""
		return nil
	})
}

// bySource finds the copy that came from a source, when it has no name and there is one.
func (f *Follower) bySource(ctx context.Context, source string) error {
	if f.o.Name != "" || source == "-" {
		return nil
	}
	var names []string
	if err := f.db.SelectContext(ctx, &names, f.db.rebind(`SELECT name FROM follow_copy WHERE source = ?`), source); err != nil {
		return inDatabase("find the copy", err)
	}
	if len(names) > 1 {
		return fmt.Errorf("the copies %v are of that source: say which one by its name", names)
	}
	if len(names) == 1 {
		f.o.Name = names[0]
	}
	return f.reload(ctx)
}

// Step is a delivery that a run would apply.
type Step struct {
	ID     string              `json:"id,omitempty"`
	Type   format.DeliveryType `json:"type,omitempty"`
	Number int64               `json:"number,omitempty"`
	Bytes  int64               `json:"bytes,omitempty"`
}

// Plan lists the steps that a run would take with a copy, nil for none yet, and takes none. Behind an initial delivery it does not
// look: which deltas follow is known when that is there.
func Plan(ctx context.Context, s Source, c *Copy) (steps []Step, err error) {
	if c == nil || c.Generation == 0 || c.UnderWay != nil && c.UnderWay.Type == format.Initial {
		d, err := s.Initial(ctx)
		if err != nil {
			return nil, err
		}
		return []Step{d.step()}, nil
	}
	if c.Reinitialise != "" {
		return nil, fault(ErrReinitialise, "%s", c.Reinitialise)
	}
	at := *c
	for {
		d, err := s.Next(ctx, at)
		if errors.Is(err, ErrUpToDate) {
			_, err := currentState(ctx, s, c)
			return steps, err
		}
		if err != nil {
			return steps, err
		}
		steps = append(steps, d.step())
		at.DeltaID = d.ID
	}
}

func (d *Delivery) step() Step {
	s := Step{ID: cmp.Or(d.ID, d.file), Type: d.Type, Number: d.Number}
	if d.Manifest != nil {
		s.Bytes = d.Manifest.Bytes
	}
	return s
}

// Ended reports that the source will bring nothing more of a dataset, and that the copy has all of it.
type Ended struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
}

type datasetState struct {
	ended   *Ended // nil: not ended, or its last delta is to come
	last    string // with ended: the delta behind which nothing comes
	lineage string // of what is got now; empty: not known
}

type stateSource interface {
	state(ctx context.Context) (datasetState, error)
}

func (s *own) state(ctx context.Context) (datasetState, error) {
	a, err := s.ask(ctx, http.MethodGet, s.path(), nil)
	if err != nil {
		return datasetState{}, fmt.Errorf("ask how the dataset stands: %w", err)
	}
	var doc struct {
		Lineage      string `json:"lineage"`
		Subscription struct {
			ID string `json:"id"`
		} `json:"subscription"`
		Ended *struct {
			Ended
			Complete bool   `json:"complete"`
			Last     string `json:"lastDeltaId"`
		} `json:"ended"`
	}
	if err := a.read(&doc); err != nil {
		return datasetState{}, err
	}
	state := datasetState{lineage: doc.Lineage}
	if s.o.Subscription != "" && s.o.Subscription != doc.Subscription.ID { // a source that does not look at which one is named
		state.lineage = ""
	}
	if doc.Ended != nil && doc.Ended.Complete {
		state.ended, state.last = &doc.Ended.Ended, doc.Ended.Last
	}
	return state, nil
}

// currentState asks the state of the dataset of a copy that has nothing to take. Without an answer it is open: the next
// run asks again. A copy of what is got no more, such as of another area, cannot go on, though no delta says so yet (MUT-49).
func currentState(ctx context.Context, s Source, c *Copy) (datasetState, error) {
	source, ok := s.(stateSource)
	if !ok || c == nil || c.Generation == 0 || c.UnderWay != nil || c.Reinitialise != "" {
		return datasetState{}, nil
	}
	state, err := source.state(ctx)
	if err != nil {
		return datasetState{}, nil //nolint:nilerr // nothing is wrong with the copy
	}
	if state.lineage != "" && c.Lineage != "" && state.lineage != c.Lineage {
		return state, fault(ErrReinitialise, "the source delivers something else now, such as another area: lineage %.60s, and the copy has %.60s", state.lineage, c.Lineage)
	}
	return state, nil
}

// atEnd reports whether the copy is complete because the dataset has ended, and puts that in the report.
func (f *Follower) atEnd(ctx context.Context, s Source, report *Report) (bool, error) {
	state, err := currentState(ctx, s, f.copy)
	if err != nil || state.ended == nil || f.copy.DeltaID == "" || state.last != f.copy.DeltaID {
		return false, err
	}
	report.Ended = state.ended
	return true, nil
}
