package follow

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"
)

// Ended is that the source will bring nothing more of a dataset, and that the copy has all of it.
type Ended struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
}

// ender is a source that tells whether its dataset has ended, and behind which delta nothing comes; nil while it has not, or
// while its last delta is to come.
type ender interface {
	ended(ctx context.Context) (e *Ended, last string, err error)
}

func (s *own) ended(ctx context.Context) (*Ended, string, error) {
	a, err := s.ask(ctx, http.MethodGet, s.base, nil)
	if err != nil {
		return nil, "", fmt.Errorf("ask whether the dataset has ended: %w", err)
	}
	var doc struct {
		Ended *struct {
			Ended
			Complete bool   `json:"complete"`
			Last     string `json:"lastDeltaId"`
		} `json:"ended"`
	}
	if err := a.read(&doc); err != nil || doc.Ended == nil || !doc.Ended.Complete {
		return nil, "", err
	}
	return &doc.Ended.Ended, doc.Ended.Last, nil
}

// atEnd tells whether the copy is complete because the dataset has ended, and puts that in the report. Who cannot tell that
// is not at the end: the next run asks again.
func (f *Follower) atEnd(ctx context.Context, s Source, report *Report) bool {
	source, ok := s.(ender)
	c := f.copy
	if !ok || c == nil || c.Generation == 0 || c.UnderWay != nil || c.Reinitialise != "" || c.DeltaID == "" {
		return false
	}
	end, last, err := source.ended(ctx)
	if err != nil {
		f.o.Log.DebugContext(ctx, "the source does not tell whether the dataset has ended", slog.Any("error", err))
		return false
	}
	if end == nil || last != c.DeltaID {
		return false
	}
	report.Ended = end
	return true
}
