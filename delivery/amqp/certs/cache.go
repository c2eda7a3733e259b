package certs

import "sync"

// cache keeps a bounded number of things. When it is full, the oldest makes room.
type cache[T any] struct {
	mu    sync.Mutex
	most  int
	items map[string]T
	order []string // of arrival
}

func newCache[T any](most int) *cache[T] {
	return &cache[T]{most: most, items: make(map[string]T)}
}

func (c *cache[T]) get(key string) (T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	item, ok := c.items[key]
	return item, ok
}

func (c *cache[T]) put(key string, item T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.items[key]; !known {
		if len(c.order) == c.most {
			delete(c.items, c.order[0])
			c.order = c.order[1:]
		}
		c.order = append(c.order, key)
	}
	c.items[key] = item
}

// change replaces every item.
func (c *cache[T]) change(fn func(T) T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, item := range c.items {
		c.items[key] = fn(item)
	}
}

func (c *cache[T]) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.items)
	c.order = nil
}
