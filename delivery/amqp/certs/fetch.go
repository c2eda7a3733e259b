package certs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// failure holds the error of an address, and the time until which it is not asked again.
type failure struct {
	until time.Time
	err   error
}

// fetch sends a request and reads its answer, which has to be 200 and at most
// most octets long, within Config.Timeout. An address from which nothing came is
// not asked again for Config.RestAfter; what is wrong with an answer says nothing
// of the next one.
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

// get gives the answer to a request, cut off after most octets and one, with its status.
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
