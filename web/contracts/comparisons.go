package contracts

import (
	"context"
	"sync"

	"schakel/registry"
	"schakel/registry/contracts"
)

// maxCachedChanges bounds the changes in the cache of comparisons; beyond it the cache
// is cleared.
const maxCachedChanges = 20_000

// comparisons compares versions of contracts, one pair at a time, because large
// documents take seconds, and keeps what it found: the same two documents always
// give the same changes.
type comparisons struct {
	contracts *contracts.Contracts
	turn      chan struct{}
	mu        sync.Mutex
	cached    map[string]contracts.Comparison
	size      int
}

func newComparisons(register *contracts.Contracts) *comparisons {
	return &comparisons{contracts: register, turn: make(chan struct{}, 1), cached: map[string]contracts.Comparison{}}
}

// get compares two versions that the reader may see, as registry.Contracts.Compare.
func (p *comparisons) get(ctx context.Context, reader registry.Reader, id, version, from string) (contracts.Comparison, error) {
	before, after, err := p.contracts.Pair(ctx, reader, id, version, from)
	if err != nil {
		return contracts.Comparison{}, err
	}
	// The number of the old version decides which one is suggested.
	name := before.Version + ":" + before.Digest + ":" + after.Digest
	if found, ok := p.find(name); ok {
		found.From, found.To = before, after
		return found, nil
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return contracts.Comparison{}, ctx.Err()
	}
	if found, ok := p.find(name); ok { // made while this one waited
		found.From, found.To = before, after
		return found, nil
	}
	made, err := p.contracts.Compare(ctx, reader, id, after.Version, before.Version)
	if err == nil && made.From.Digest == before.Digest && made.To.Digest == after.Digest {
		p.cache(name, made)
	}
	return made, err
}

func (p *comparisons) find(name string) (contracts.Comparison, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found, ok := p.cached[name]
	return found, ok
}

func (p *comparisons) cache(name string, made contracts.Comparison) {
	p.mu.Lock()
	defer p.mu.Unlock()
	weight := len(made.Changes) + 10 // an empty one takes room too
	if p.size+weight > maxCachedChanges {
		clear(p.cached)
		p.size = 0
	}
	if weight <= maxCachedChanges {
		p.cached[name] = made
		p.size += weight
	}
}
