package outbox

import (
	"sync"
	"time"

	"schakel/delivery/outbound"
	"schakel/store"
)

// certificateRecheck bounds how long one certificate is shown before it is asked again which: a file may have been replaced.
const certificateRecheck = time.Minute

// certificateCache keeps the client certificate that each endpoint is shown, so that its key is unsealed once and not for each attempt. An entry
// holds for a while, until the endpoint changes, or until another certificate is due.
type certificateCache struct {
	mu         sync.Mutex
	byEndpoint map[string]shownCertificate
}

type shownCertificate struct {
	version int64
	until   time.Time
	cert    *outbound.Certificate
}

func (c *certificateCache) of(ep store.Endpoint, now time.Time, open func(store.Endpoint) (*outbound.Certificate, time.Time, error)) (*outbound.Certificate, error) {
	c.mu.Lock()
	known, ok := c.byEndpoint[ep.ID]
	c.mu.Unlock()
	if ok && known.version == ep.ConfigVersion && now.Before(known.until) {
		return known.cert, nil
	}
	cert, until, err := open(ep)
	if err != nil {
		return nil, err
	}
	if latest := now.Add(certificateRecheck); until.IsZero() || until.After(latest) {
		until = latest
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byEndpoint == nil {
		c.byEndpoint = make(map[string]shownCertificate)
	}
	if ok && known.cert != nil && cert != nil && known.cert.ID == cert.ID {
		cert = known.cert // connections are known by it
	}
	c.byEndpoint[ep.ID] = shownCertificate{ep.ConfigVersion, until, cert}
	return cert, nil
}
