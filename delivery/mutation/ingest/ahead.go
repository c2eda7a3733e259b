package ingest

import (
	"errors"
	"io"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
	"schakel/store"
)

// ahead is a source of which the first group was looked at.
type ahead struct {
	Source
	group *format.Group
	at    archive.Position
	err   error
	held  bool
}

// lookAhead makes sure that there is a sound first group, or a sound end: before that, nothing is replaced for it.
func lookAhead(s Source, d store.Dataset, kind string) (Source, error) {
	a := &ahead{Source: s, held: true}
	a.group, a.at, a.err = s.Next()
	_, lines := s.(*lineSource)
	switch {
	case errors.Is(a.err, io.EOF) && lines: // of which none came: whoever makes them may have failed
		return nil, &Refused{Problems: []Problem{{
			Code: CodeHeader, Detail: "the body is empty, and nothing is replaced by it", Remedy: `Send the groups that take the place of what is there; {"groups":[]} as JSON is none.`,
		}}}
	case errors.Is(a.err, io.EOF) && !errors.Is(a.err, io.ErrUnexpectedEOF):
		return a, nil
	case a.err != nil:
		return nil, refusedSource(a.err)
	}
	p := &preparer{dataset: d, kind: kind}
	if _, problems := p.prepare(a.group, a.at); len(problems) > 0 {
		return nil, &Refused{Problems: problems}
	}
	return a, nil
}

// Next implements Source.
func (a *ahead) Next() (*format.Group, archive.Position, error) {
	if a.held {
		a.held = false
		return a.group, a.at, a.err
	}
	return a.Source.Next()
}
