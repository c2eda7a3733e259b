package contracts

import (
	"context"
	"errors"
	"slices"
	"sync"

	"schakel/registry/contracts/contract"
	"schakel/registry/contracts/outline"
)

// maxOutlined bounds the documents whose outlines are cached, in bytes of their text; one takes some seven times that in memory. A
// larger document is read anew for each page, in a third of a second for one of 13 MB.
const maxOutlined = 8 << 20

// outlines reads documents for people, one at a time, because a large one takes a second and a hundred megabytes, and
// caches what it read: the same bytes always give the same outline.
type outlines struct {
	turn   chan struct{}
	mu     sync.Mutex
	cached map[string]*outline.Outline
	used   []string // digests, the one used last at the end
	size   int
}

func newOutlines() *outlines {
	return &outlines{turn: make(chan struct{}, 1), cached: map[string]*outline.Outline{}}
}

// get gives the outline of a document with a digest.
func (o *outlines) get(ctx context.Context, digest string, content []byte) (*outline.Outline, error) {
	if found := o.find(digest); found != nil {
		return found, nil
	}
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if found := o.find(digest); found != nil { // read while this one waited
		return found, nil
	}
	made, err := outlineOf(content)
	if err == nil {
		o.cache(digest, made)
	}
	return made, err
}

func outlineOf(content []byte) (*outline.Outline, error) {
	doc, _, err := contract.Parse(content, contract.Limits{})
	if err != nil {
		return nil, err
	}
	if doc == nil {
		return nil, errors.New("read a contract: it was readable at its upload")
	}
	return outline.Of(doc, len(content)), nil
}

func (o *outlines) find(digest string) *outline.Outline {
	o.mu.Lock()
	defer o.mu.Unlock()
	found := o.cached[digest]
	if found != nil {
		o.used = append(slices.DeleteFunc(o.used, func(d string) bool { return d == digest }), digest)
	}
	return found
}

func (o *outlines) cache(digest string, made *outline.Outline) {
	if made.Size() > maxOutlined {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cached[digest], o.used = made, append(o.used, digest)
	for o.size += made.Size() + 1_000; o.size > maxOutlined && len(o.used) > 1; o.used = o.used[1:] {
		o.size -= o.cached[o.used[0]].Size() + 1_000
		delete(o.cached, o.used[0])
	}
}
