package e2e

import (
	"net/http"
	"sync"

	"schakel/server/trial"
)

// waitOnce makes the first event a receiver gets wait until release is closed, and
// closes arrived when it has come.
func waitOnce(r *trial.Receiver, arrived, release chan struct{}) {
	var once sync.Once
	r.Before(func(q *http.Request) {
		if q.URL.Path == "/token" {
			return
		}
		once.Do(func() {
			close(arrived)
			<-release
		})
	})
}
