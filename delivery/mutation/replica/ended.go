package replica

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Ended reports that the source will bring nothing more of a dataset, and that the copy has all of it.
type Ended struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
}

// datasetState holds the state of a dataset as its source reports it.
type datasetState struct {
	ended   *Ended // nil: not ended, or its last delta is to come
	last    string // with ended: the delta behind which nothing comes
	lineage string // of what is got now; empty: not known
}

// stateSource reports the state of its dataset.
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
