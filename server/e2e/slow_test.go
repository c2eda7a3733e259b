package e2e

import (
	"net/http"
	"sync"
)

// slowOnce makes the first event a receiver gets wait.
type slowOnce struct {
	*receiver
	once             sync.Once
	arrived, release chan struct{}
}

func newSlowOnce(r *receiver, arrived, release chan struct{}) *slowOnce {
	s := &slowOnce{receiver: r, arrived: arrived, release: release}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before = s.wait
	return s
}

func (s *slowOnce) wait(q *http.Request) {
	if q.URL.Path == "/token" {
		return
	}
	s.once.Do(func() {
		close(s.arrived)
		<-s.release
	})
}

func (s *slowOnce) restore() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = nil
}
