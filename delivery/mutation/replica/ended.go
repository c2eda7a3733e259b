package replica

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Ended is that the source will bring nothing more of a dataset, and that the copy has all of it.
type Ended struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
}

// standing is what a source tells of its dataset beside deliveries.
type standing struct {
	ended   *Ended // nil: not ended, or its last delta is to come
	last    string // with ended: the delta behind which nothing comes
	lineage string // of what is got now; empty: not told
}

// teller is a source that tells how its dataset stands.
type teller interface {
	standing(ctx context.Context) (standing, error)
}

func (s *own) standing(ctx context.Context) (standing, error) {
	a, err := s.ask(ctx, http.MethodGet, s.path(), nil)
	if err != nil {
		return standing{}, fmt.Errorf("ask how the dataset stands: %w", err)
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
		return standing{}, err
	}
	told := standing{lineage: doc.Lineage}
	if s.o.Subscription != "" && s.o.Subscription != doc.Subscription.ID { // a source that does not look at which one is named
		told.lineage = ""
	}
	if doc.Ended != nil && doc.Ended.Complete {
		told.ended, told.last = &doc.Ended.Ended, doc.Ended.Last
	}
	return told, nil
}

// asItStands tells how the dataset of a copy stands that has nothing to take. Who cannot tell that leaves it open: the next
// run asks again. A copy of what is got no more, such as of another area, cannot go on, though no delta says so yet (MUT-49).
func asItStands(ctx context.Context, s Source, c *Copy) (standing, error) {
	source, ok := s.(teller)
	if !ok || c == nil || c.Generation == 0 || c.UnderWay != nil || c.Reinitialise != "" {
		return standing{}, nil
	}
	told, err := source.standing(ctx)
	if err != nil {
		return standing{}, nil //nolint:nilerr // nothing is wrong with the copy
	}
	if told.lineage != "" && c.Lineage != "" && told.lineage != c.Lineage {
		return told, fault(ErrReinitialise, "the source delivers something else now, such as another area: lineage %.60s, and the copy has %.60s", told.lineage, c.Lineage)
	}
	return told, nil
}

// atEnd tells whether the copy is complete because the dataset has ended, and puts that in the report.
func (f *Follower) atEnd(ctx context.Context, s Source, report *Report) (bool, error) {
	told, err := asItStands(ctx, s, f.copy)
	if err != nil || told.ended == nil || f.copy.DeltaID == "" || told.last != f.copy.DeltaID {
		return false, err
	}
	report.Ended = told.ended
	return true, nil
}
