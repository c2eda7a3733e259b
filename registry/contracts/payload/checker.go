package payload

import (
	"container/list"
	"sync"
)

// Checker keeps compiled schemas by a key of its user, the least recently used of which go.
type Checker struct {
	most  int
	mu    sync.Mutex
	byKey map[string]*list.Element
	order *list.List // of *kept, the last used first
}

type kept struct {
	key     string
	compile func() (*Schema, error)
}

// DefaultSchemas is the number of schemas a Checker caches by default.
const DefaultSchemas = 500

// NewChecker makes a checker that keeps so many schemas.
func NewChecker(most int) *Checker {
	if most <= 0 {
		most = DefaultSchemas
	}
	return &Checker{most: most, byKey: make(map[string]*list.Element), order: list.New()}
}

// Schema gives the compiled schema of a key, which stands for the same source always. It is compiled once, also when
// several ask at a time, and so is a failure.
func (c *Checker) Schema(key, source string) (*Schema, error) {
	return c.kept(key, source).compile()
}

func (c *Checker) kept(key, source string) *kept {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[key]; ok {
		c.order.MoveToFront(e)
		return e.Value.(*kept)
	}
	k := &kept{key: key, compile: sync.OnceValues(func() (*Schema, error) { return Compile(source) })}
	c.byKey[key] = c.order.PushFront(k)
	if c.order.Len() > c.most {
		oldest := c.order.Back()
		c.order.Remove(oldest)
		delete(c.byKey, oldest.Value.(*kept).key)
	}
	return k
}
