package outbox

import (
	"errors"
	"sync"
	"time"

	"schakel/delivery/webhook"
	"schakel/store"
)

// signatureCache keeps what signs the requests to each endpoint, so that keys are unsealed once and not for each attempt. An entry holds
// until the endpoint changes, or one of its keys retires.
type signatureCache struct {
	mu         sync.Mutex
	byEndpoint map[string]signing
}

type signing struct {
	version int64
	until   time.Time
	signs   webhook.Signatures
}

func (c *signatureCache) of(ep store.Endpoint, now time.Time, open func(store.Endpoint) ([]webhook.SignKey, time.Time, error)) (webhook.Signatures, error) {
	c.mu.Lock()
	known, ok := c.byEndpoint[ep.ID]
	c.mu.Unlock()
	if ok && known.version == ep.ConfigVersion && (known.until.IsZero() || now.Before(known.until)) {
		return known.signs, nil
	}
	if open == nil {
		return webhook.Signatures{}, errors.New("sign request: there is nothing to open keys with")
	}
	keys, until, err := open(ep)
	if err != nil {
		return webhook.Signatures{}, err
	}
	signs, err := webhook.NewSignatures(ep.SignScheme, keys...)
	if err != nil {
		return webhook.Signatures{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byEndpoint == nil {
		c.byEndpoint = make(map[string]signing)
	}
	c.byEndpoint[ep.ID] = signing{ep.ConfigVersion, until, signs}
	return signs, nil
}
