package outbox

import (
	"sync"

	"schakel/store"
)

// secretCache caches the unsealed secrets of token clients, so that not every attempt unseals the same one. An endpoint has
// one entry, which a changed secret replaces.
type secretCache struct {
	mu         sync.Mutex
	byEndpoint map[string]secret // by endpoint
}

type secret struct{ sealed, plain string }

// open returns the secret of an endpoint, which unseal unseals.
func (s *secretCache) open(ep store.Endpoint, unseal func(store.Endpoint) (string, error)) (string, error) {
	s.mu.Lock()
	known, ok := s.byEndpoint[ep.ID]
	s.mu.Unlock()
	if ok && known.sealed == ep.TokenSecret {
		return known.plain, nil
	}
	plain, err := unseal(ep)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byEndpoint == nil {
		s.byEndpoint = make(map[string]secret)
	}
	s.byEndpoint[ep.ID] = secret{ep.TokenSecret, plain}
	return plain, nil
}
