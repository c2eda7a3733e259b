package contract

import (
	"sync"
	"time"
)

// idleAfter bounds how long a compiled schema stays in memory unused. Documents come in bursts, and the schemas of all releases
// take some megabytes that the delivery of events would miss.
const idleAfter = 3 * time.Second

// idling compiles an official schema when it is used and releases it when it is not.
type idling struct {
	name   string
	mu     sync.Mutex
	schema *officialSchema
	timer  *time.Timer
}

// get gives the schema, compiled.
func (i *idling) get() (*officialSchema, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.schema == nil {
		compiled, err := compile(i.name)
		if err != nil {
			return nil, err
		}
		i.schema = compiled
	}
	if i.timer == nil {
		i.timer = time.AfterFunc(idleAfter, i.release)
	}
	i.timer.Reset(idleAfter)
	return i.schema, nil
}

func (i *idling) release() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.schema = nil
}
