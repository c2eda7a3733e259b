package api

import (
	"context"
	"fmt"
	"sync"

	"schakel/registry/contracts/contract"
)

// convertedBytes bounds the cache of converted documents; when it is full it is
// cleared.
const convertedBytes = 32 << 20

// ConvertedDocuments converts documents between JSON and YAML, one at a time,
// because a large one takes a second, and keeps what it made: a published
// document never changes.
type ConvertedDocuments struct {
	turn   chan struct{}
	mu     sync.Mutex
	cached map[string][]byte
	size   int
}

// NewConvertedDocuments makes an empty cache of converted documents.
func NewConvertedDocuments() *ConvertedDocuments {
	return &ConvertedDocuments{turn: make(chan struct{}, 1), cached: make(map[string][]byte)}
}

// Get answers a document in a format; digest is that of content.
func (d *ConvertedDocuments) Get(ctx context.Context, digest, format string, content []byte) ([]byte, error) {
	name := format + ":" + digest
	if found, ok := d.find(name); ok {
		return found, nil
	}
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if found, ok := d.find(name); ok { // made while this one waited
		return found, nil
	}
	convert := DocumentToJSON
	if format == contract.FormatYAML {
		convert = DocumentToYAML
	}
	made, err := convert(content)
	if err != nil {
		return nil, fmt.Errorf("convert document: %w", err)
	}
	d.cache(name, made)
	return made, nil
}

func (d *ConvertedDocuments) find(name string) ([]byte, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found, ok := d.cached[name]
	return found, ok
}

func (d *ConvertedDocuments) cache(name string, made []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.size+len(made) > convertedBytes {
		clear(d.cached)
		d.size = 0
	}
	if len(made) <= convertedBytes {
		d.cached[name] = made
		d.size += len(made)
	}
}
