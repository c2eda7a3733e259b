package outbox

import (
	"sync"

	"schakel/store"
)

// secrets keeps the secrets of token clients unsealed, so that not every attempt unseals the same one anew. An endpoint has one
// place, and another secret takes it.
type secrets struct {
	mu   sync.Mutex
	kept map[string]secret // by endpoint
}

type secret struct{ sealed, plain string }

// open gives the secret of an endpoint, which unseal unseals.
func (s *secrets) open(ep store.Endpoint, unseal func(store.Endpoint) (string, error)) (string, error) {
	s.mu.Lock()
	known, ok := s.kept[ep.ID]
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
	if s.kept == nil {
		s.kept = make(map[string]secret)
	}
	s.kept[ep.ID] = secret{ep.TokenSecret, plain}
	return plain, nil
}
