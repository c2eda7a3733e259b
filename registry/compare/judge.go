package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oasdiff/oasdiff/checker"
	"github.com/oasdiff/oasdiff/diff"
)

// judgement is what oasdiff found.
type judgement struct {
	changes  checker.Changes
	old, new *placer
}

// judge lets oasdiff compare the copies. It cannot be stopped halfway: when ctx ends first its work goes on unseen, bounded
// by the size that the copies are held to. A panic in it becomes an error, for it reads what strangers wrote.
func (p *pair) judge(ctx context.Context) (*judgement, error) {
	type outcome struct {
		found *judgement
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if fault := recover(); fault != nil {
				o = outcome{nil, fmt.Errorf("compare schemas: %v", fault)}
			}
			done <- o
		}()
		o.found, o.err = p.run()
	}()
	select {
	case o := <-done:
		return o.found, o.err
	case <-ctx.Done():
		return nil, errors.Join(ErrTooLarge, ctx.Err())
	}
}

func (p *pair) run() (*judgement, error) {
	if err := p.complete(); err != nil {
		return nil, err
	}
	before, placesBefore, err := p.old.load()
	if err != nil {
		return nil, fmt.Errorf("load the old document: %w", err)
	}
	after, placesAfter, err := p.new.load()
	if err != nil {
		return nil, fmt.Errorf("load the new document: %w", err)
	}
	found, err := diff.Get(diff.NewConfig(diff.WithExcludeElements(diff.GetExcludeDiffOptions())), before, after)
	if err != nil {
		return nil, fmt.Errorf("compare schemas: %w", err)
	}
	config := checker.NewConfig(checker.GetAllChecks())
	changes := checker.CheckBackwardCompatibilityUntilLevel(config, found, &diff.OperationsSourcesMap{}, checker.INFO)
	return &judgement{changes: changes, old: placesBefore, new: placesAfter}, nil
}

// complete finishes the copies and takes out of them what need not be judged.
func (p *pair) complete() error {
	before, err := p.old.document()
	if err != nil {
		return fmt.Errorf("copy the old document: %w", err)
	}
	after, err := p.new.document()
	if err != nil {
		return fmt.Errorf("copy the new document: %w", err)
	}
	prune(before, after)
	if max(unrolled(before), unrolled(after)) > maxUnrolled {
		return ErrTooLarge
	}
	return nil
}

// load makes the copy into the form that oasdiff takes, marked with where each part comes from.
func (c *copier) load() (*openapi3.T, *placer, error) {
	content, err := json.Marshal(c.made)
	if err != nil {
		return nil, nil, fmt.Errorf("write copy: %w", err)
	}
	loaded := &openapi3.T{}
	if err := json.Unmarshal(content, loaded); err != nil {
		return nil, nil, fmt.Errorf("read copy: %w", err)
	}
	places := newPlacer(c)
	places.place(reflect.ValueOf(loaded), c.made, "")
	loader := openapi3.NewLoader()
	loader.IsExternalRefsAllowed = false
	if err := loader.ResolveRefsIn(loaded, nil); err != nil {
		return nil, nil, fmt.Errorf("follow references: %w", err)
	}
	return loaded, places, nil
}
