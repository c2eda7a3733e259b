package pull

import "sync"

// waiters holds the calls that wait, by endpoint.
type waiters struct {
	most       int
	mu         sync.Mutex
	byEndpoint map[string]map[chan struct{}]struct{}
}

// enter makes a channel that gets a signal when the endpoint may have events; nil when too many wait already. The caller must
// call leave.
func (w *waiters) enter(endpointID string) (woken chan struct{}, leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.byEndpoint[endpointID]) >= w.most {
		return nil, func() {}
	}
	if w.byEndpoint == nil {
		w.byEndpoint = make(map[string]map[chan struct{}]struct{})
	}
	if w.byEndpoint[endpointID] == nil {
		w.byEndpoint[endpointID] = make(map[chan struct{}]struct{})
	}
	woken = make(chan struct{}, 1)
	w.byEndpoint[endpointID][woken] = struct{}{}
	return woken, func() { w.leave(endpointID, woken) }
}

func (w *waiters) leave(endpointID string, woken chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.byEndpoint[endpointID], woken)
	if len(w.byEndpoint[endpointID]) == 0 {
		delete(w.byEndpoint, endpointID)
	}
}

// wake signals the calls that wait for the endpoints; for all when endpoints is nil.
func (w *waiters) wake(endpoints map[string]struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if endpoints == nil {
		for id := range w.byEndpoint {
			w.signal(id)
		}
		return
	}
	for id := range endpoints {
		w.signal(id)
	}
}

func (w *waiters) signal(endpointID string) {
	for woken := range w.byEndpoint[endpointID] {
		select {
		case woken <- struct{}{}:
		default: // it is signalled already
		}
	}
}
