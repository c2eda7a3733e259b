package certs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// fetch sends a request and reads its answer, which has to be 200 and at most
// most octets long, within Config.Timeout.
func (v *Validator) fetch(ctx context.Context, request *http.Request, most int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, v.cfg.Timeout)
	defer cancel()
	response, err := v.cfg.HTTP.Do(request.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	err = errors.Join(err, response.Body.Close())
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("answered %d", response.StatusCode)
	case int64(len(body)) > most:
		return nil, fmt.Errorf("answered more than %d bytes", most)
	}
	return body, nil
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
