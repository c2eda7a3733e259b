package contract

import (
	"sync"
	"time"
)

// idleAfter is how long a compiled schema is kept when nobody uses it. Documents come in bursts, and the schemas of all releases
// take some megabytes that the delivery of events would miss.
const idleAfter = 3 * time.Second

// idling is an official schema that is compiled when it is used and let go when it is not.
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
		i.timer = time.AfterFunc(idleAfter, i.letGo)
	}
	i.timer.Reset(idleAfter)
	return i.schema, nil
}

func (i *idling) letGo() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.schema = nil
}
