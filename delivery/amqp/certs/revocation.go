package certs

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ocsp"
)

// skew limits the error of the clocks of others.
const skew = 5 * time.Minute

// errSource is why a responder or a list gave no answer that counts.
var errSource = errors.New("no usable answer on revocation")

// checkRevocation asks about every certificate of the chain but the root. The first has to name somebody to ask; an issuer need
// not. That one cannot be asked about does not hide that another is revoked.
func (v *Validator) checkRevocation(ctx context.Context, chain []*x509.Certificate, now time.Time) error {
	if !v.asksBelow(chain[len(chain)-1]) {
		return nil
	}
	var unavailable error
	for i := range len(chain) - 1 {
		c, issuer := chain[i], chain[i+1]
		found, given, failed := v.askGiven(ctx, c, issuer, now)
		var err error
		switch {
		case given:
			err = verdict(found, chain[0], c)
		case len(c.OCSPServer) > 0 || len(c.CRLDistributionPoints) > 0:
			err = v.ask(ctx, chain[0], c, issuer, now)
		case failed != nil:
			err = fail(Unavailable, chain[0], "", failed)
		case i == 0 && !v.cfg.Soft:
			err = fail(Untrusted, c, "it names nobody who can be asked about revocation", nil)
		}
		switch {
		case KindOf(err) == Unavailable:
			unavailable = err
		case err != nil:
			return err
		}
	}
	if v.cfg.Soft {
		return nil
	}
	return unavailable
}

// ask takes the answer of the first source that has one: the responders, then
// the lists (INC-24), then a good answer of before that is within Config.Grace.
func (v *Validator) ask(ctx context.Context, subject, c, issuer *x509.Certificate, now time.Time) error {
	status, err := v.askResponders(ctx, c, issuer, now)
	if err != nil {
		var other error
		if status, other = v.askLists(ctx, c, issuer, now); other != nil {
			cached, ok := v.answers.get(string(c.Raw))
			if !ok || !now.Before(cached.until.Add(v.cfg.Grace)) || cached.status == statusUnknown {
				return fail(Unavailable, subject, "", errors.Join(err, other))
			}
			status = cached.status
		}
	}
	return verdict(status, subject, c)
}

// verdict judges subject by the status of c, a certificate in its chain.
func verdict(s status, subject, c *x509.Certificate) error {
	detail := ""
	if subject != c {
		detail = "its issuer " + Thumbprint(c)
	}
	switch s {
	case statusGood:
		return nil
	case statusRevoked:
		return fail(Revoked, subject, detail, nil)
	}
	return fail(Untrusted, subject, "its issuer does not know it", nil)
}

// failure holds the error of an address, and the time until which it is not asked again.
type failure struct {
	until time.Time
	err   error
}

// fetch sends a request and reads its answer, which has to be 200 and at most most octets long, within Config.Timeout. An address
// from which nothing came is not asked again for Config.RestAfter; what is wrong with an answer says nothing of the next one.
func (v *Validator) fetch(ctx context.Context, request *http.Request, most int64) ([]byte, error) {
	address, now := request.URL.String(), v.cfg.Now()
	if cached, ok := v.failures.get(address); ok && now.Before(cached.until) {
		return nil, cached.err
	}
	body, status, err := v.get(ctx, request, most)
	if (err != nil || status >= http.StatusInternalServerError) && v.cfg.RestAfter > 0 && ctx.Err() == nil {
		why := err
		if why == nil {
			why = fmt.Errorf("answered %d", status)
		}
		v.failures.put(address, failure{v.cfg.Now().Add(v.cfg.RestAfter), why})
	}
	switch {
	case err != nil:
		return nil, err
	case status != http.StatusOK:
		return nil, fmt.Errorf("answered %d", status)
	case int64(len(body)) > most:
		return nil, fmt.Errorf("answered more than %d bytes", most)
	}
	return body, nil
}

func (v *Validator) get(ctx context.Context, request *http.Request, most int64) ([]byte, int, error) {
	ctx, cancel := context.WithTimeout(ctx, v.cfg.Timeout)
	defer cancel()
	response, err := v.cfg.HTTP.Do(request.WithContext(ctx))
	if err != nil {
		return nil, 0, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	return body, response.StatusCode, errors.Join(err, response.Body.Close())
}

// reachable gives the addresses that are worth a try: over HTTP, since
// directories are not asked, and at most three, since nobody waits for more.
func reachable(urls []string) []string {
	var out []string
	for _, url := range urls {
		if len(out) < 3 && (strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://")) {
			out = append(out, url)
		}
	}
	return out
}

// cache keeps a bounded number of things. When it is full, the oldest makes room.
type cache[T any] struct {
	mu    sync.Mutex
	most  int
	items map[string]T
	order []string // of arrival
}

func newCache[T any](most int) *cache[T] {
	return &cache[T]{most: most, items: make(map[string]T)}
}

func (c *cache[T]) get(key string) (T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	item, ok := c.items[key]
	return item, ok
}

func (c *cache[T]) put(key string, item T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.items[key]; !known {
		if len(c.order) == c.most {
			delete(c.items, c.order[0])
			c.order = c.order[1:]
		}
		c.order = append(c.order, key)
	}
	c.items[key] = item
}

// change replaces every item.
func (c *cache[T]) change(fn func(T) T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, item := range c.items {
		c.items[key] = fn(item)
	}
}

func (c *cache[T]) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.items)
	c.order = nil
}

type status int

const (
	statusUnknown status = iota
	statusGood
	statusRevoked
)

type answer struct {
	status  status
	refresh time.Time // asked again from here on
	until   time.Time // the end of its life
}

// askResponders asks the OCSP responders that c names, one after another, and
// keeps the answer until its end. An error means that none of them answered.
func (v *Validator) askResponders(ctx context.Context, c, issuer *x509.Certificate, now time.Time) (status, error) {
	if cached, ok := v.answers.get(string(c.Raw)); ok && now.Before(cached.refresh) {
		return cached.status, nil
	}
	var err error
	for _, url := range reachable(c.OCSPServer) {
		found, failed := v.askResponder(ctx, url, c, issuer, now)
		if failed == nil {
			v.answers.put(string(c.Raw), found)
			return found.status, nil
		}
		err = errors.Join(err, failed)
	}
	if err == nil {
		err = fmt.Errorf("%w: OCSP: no address", errSource)
	}
	return statusUnknown, err
}

func (v *Validator) askResponder(ctx context.Context, url string, c, issuer *x509.Certificate, now time.Time) (answer, error) {
	question, err := ocsp.CreateRequest(c, issuer, nil)
	if err != nil {
		return answer{}, fmt.Errorf("%w: ask OCSP: %w", errSource, err)
	}
	request, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(question))
	if err != nil {
		return answer{}, fmt.Errorf("%w: ask OCSP: %w", errSource, err)
	}
	request.Header.Set("Content-Type", "application/ocsp-request")
	request.Header.Set("Accept", "application/ocsp-response")
	body, err := v.fetch(ctx, request, v.cfg.MaxOCSP)
	if err != nil {
		return answer{}, fmt.Errorf("%w: ask OCSP: %w", errSource, err)
	}
	found, err := readOCSP(body, c, issuer, now)
	if err != nil {
		return answer{}, fmt.Errorf("%w: read OCSP: %w", errSource, err)
	}
	found.until = earlier(found.until, now.Add(v.cfg.CacheFor))
	found.refresh = found.until
	return found, nil
}

// readOCSP checks who signed an answer and how old it is.
func readOCSP(body []byte, c, issuer *x509.Certificate, now time.Time) (answer, error) {
	response, err := ocsp.ParseResponseForCert(body, c, issuer)
	if err != nil {
		return answer{}, err
	}
	if err := checkResponder(response.Certificate, issuer, now); err != nil {
		return answer{}, err
	}
	if response.ThisUpdate.After(now.Add(skew)) {
		return answer{}, errors.New("the answer is from the future")
	}
	until := response.NextUpdate
	switch {
	case until.IsZero() && now.Sub(response.ThisUpdate) > time.Hour:
		return answer{}, errors.New("the answer is old and has no end")
	case until.IsZero():
		until = now // newer ones are always to be had: not cached
	case now.After(until.Add(skew)):
		return answer{}, errors.New("the answer has ended")
	}
	switch response.Status {
	case ocsp.Good:
		return answer{status: statusGood, until: until}, nil
	case ocsp.Revoked:
		return answer{status: statusRevoked, until: until}, nil
	}
	return answer{status: statusUnknown, until: now}, nil
}

// checkResponder wants a delegated responder to be named so by the issuer
// (RFC 6960, 4.2.2.2). Without a certificate the issuer has signed itself.
func checkResponder(responder, issuer *x509.Certificate, now time.Time) error {
	switch {
	case responder == nil:
		return nil
	case !bytes.Equal(responder.RawIssuer, issuer.RawSubject):
		return errors.New("the responder's certificate is of another issuer")
	case !slices.Contains(responder.ExtKeyUsage, x509.ExtKeyUsageOCSPSigning):
		return errors.New("the responder's certificate is not for OCSP")
	case now.Before(responder.NotBefore) || now.After(responder.NotAfter):
		return errors.New("the responder's certificate is not valid now")
	}
	return nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
