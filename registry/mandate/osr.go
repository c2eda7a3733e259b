package mandate

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"schakel/registry"
)

// OSR asks the API of the Onderwijs Serviceregister of Kennisnet, version 2: GET {base}/mandates with the OINs of supplier and school, the
// namespace of the version of a service, and a date. It answers 200 where there is a mandate and 404 where there is none.
type OSR struct {
	Base      string // such as https://osr.kennisnet.nl/api/v2
	KeyHeader string // that takes the API key
	Key       string // empty where a certificate is enough
	HTTP      registry.Doer
}

// Mandated implements Source.
func (o OSR) Mandated(ctx context.Context, q Question, at time.Time) (bool, error) {
	query := url.Values{
		"supplier_oin": {q.Intermediary}, "school_oin": {q.Organisation}, "service_version_namespace": {q.Service}, "reference_date": {at.UTC().Format(time.DateOnly)},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(o.Base, "/")+"/mandates?"+query.Encode(), nil)
	if err != nil {
		return false, fmt.Errorf("ask OSR: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	if o.Key != "" {
		req.Header.Set(o.KeyHeader, o.Key)
	}
	res, err := o.HTTP.Do(req)
	if err != nil {
		return false, fmt.Errorf("ask OSR: %w", err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection can be used again
	switch res.StatusCode {
	case http.StatusOK:
		return true, nil
	case http.StatusNotFound:
		return false, nil
	}
	return false, fmt.Errorf("ask OSR: status %d", res.StatusCode)
}
