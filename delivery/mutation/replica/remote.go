package replica

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Source lists and opens deliveries.
type Source interface {
	// Name names the source for people; it has no secrets.
	Name() string
	// Initial gives the newest initial delivery.
	Initial(ctx context.Context) (*Delivery, error)
	// Next gives the delivery that a copy needs next, or ErrUpToDate, or ErrReinitialise.
	Next(ctx context.Context, c Copy) (*Delivery, error)
}

// Kind names the protocol of a download API.
type Kind string

// The kinds of download APIs.
const (
	Auto    Kind = "auto"    // found out by asking
	Schakel Kind = "schakel" // with manifests, lineage and snapshots
	PDOK    Kind = "pdok"    // DownloadApi.json: list, request, status and download (MUT-50..53)
)

// RemoteOptions gives the address of a download API and the limits of its use.
type RemoteOptions struct {
	URL  string // of the dataset, as https://host/mutations/v1/datasets/bgt
	Kind Kind   // default: auto
	// Token gives an access token, a new one when the last was refused; nil: none is sent. ErrAccess is not tried again.
	Token func(ctx context.Context, renew bool) (string, error)
	HTTP  *http.Client // without a time limit; default: a client with that of a connection only
	Agent string       // User-Agent

	Subscription string   // ours: which of several subscriptions to the dataset; default: the oldest
	Format       string   // of PDOK's custom downloads, as citygml; default: that of the copy, or one that the source has
	FeatureTypes []string // of PDOK's custom downloads; default: those of the copy, or all that the source has
	GeoFilter    string   // WKT of PDOK's custom downloads; default: everything (MUT-48)
	Predefined   string   // name of PDOK's predefined download, as dkk-gml-nl, in place of custom ones (MUT-53)

	Tries int           // in a row that bring nothing, after which it gives up; default 8
	Idle  time.Duration // after which a line on which nothing comes counts as cut; default 1 minute
	Poll  time.Duration // how long it waits for a download that is being made; default 6 hours
	Now   func() time.Time
	Wait  func(ctx context.Context, d time.Duration) error
	Log   *slog.Logger
}

func (o RemoteOptions) filled() RemoteOptions {
	if o.HTTP == nil {
		transport, ok := http.DefaultTransport.(*http.Transport)
		if ok {
			transport = transport.Clone()
			transport.ResponseHeaderTimeout = time.Minute
			o.HTTP = &http.Client{Transport: transport}
		} else {
			o.HTTP = &http.Client{}
		}
	}
	if o.Tries <= 0 {
		o.Tries = 8
	}
	if o.Idle <= 0 {
		o.Idle = time.Minute
	}
	if o.Poll <= 0 {
		o.Poll = 6 * time.Hour
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Wait == nil {
		o.Wait = waitFor
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// NewRemote makes a source of a download API, and finds out of which kind it is unless that is given.
func NewRemote(ctx context.Context, o RemoteOptions) (Source, error) {
	o = o.filled()
	base, err := url.Parse(strings.TrimRight(o.URL, "/"))
	if err != nil || base.Host == "" || base.User != nil || base.RawQuery != "" || base.Scheme != "https" && base.Scheme != "http" {
		return nil, fmt.Errorf("%.100q is no address of a dataset", o.URL)
	}
	guarded := *o.HTTP
	guarded.CheckRedirect = stayTLS
	o.HTTP = &guarded
	c := &client{o: o, base: base}
	if o.Kind == "" || o.Kind == Auto {
		if o.Kind, err = c.kind(ctx); err != nil {
			return nil, err
		}
	}
	if o.Kind == PDOK {
		return &pdok{client: c}, nil
	}
	return &own{client: c}, nil
}

// stayTLS follows a few redirects, but not out of TLS, and takes no token to another host.
func stayTLS(req *http.Request, via []*http.Request) error {
	if len(via) >= 5 {
		return errors.New("more than 5 redirects")
	}
	if via[0].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return errors.New("a redirect out of TLS")
	}
	if req.URL.Host != via[0].URL.Host {
		req.Header.Del("Authorization")
	}
	return nil
}

// kind asks for the dataset itself, which PDOK's API does not know. Ours tells about it, or answers with a problem of its own,
// the type of which is an address below /problems/.
func (c *client) kind(ctx context.Context) (Kind, error) {
	a, err := c.ask(ctx, http.MethodGet, c.base, nil)
	if err != nil {
		return "", err
	}
	var doc struct {
		ID   string `json:"id"`
		Type string `json:"type"`
	}
	decoded := json.Unmarshal(a.body, &doc) == nil
	problem := strings.HasPrefix(a.header.Get("Content-Type"), "application/problem+json")
	switch {
	case decoded && problem && strings.Contains(doc.Type, "/problems/"), decoded && a.status == http.StatusOK && doc.ID != "":
		return Schakel, nil
	case a.status == http.StatusUnauthorized:
		return "", a.problem()
	}
	return PDOK, nil
}

// expired makes ErrReinitialise of an answer that says there is no going on from where the copy is.
func expired(err error) error {
	status, kind := statusOf(err)
	if status == http.StatusGone || status == http.StatusNotFound && kind == "delta-unknown" {
		return fmt.Errorf("%w: %w", ErrReinitialise, err)
	}
	return err
}

// opened is the Open of a file at an address that is known.
func (c *client) opened(u *url.URL) func(context.Context) (io.ReadCloser, error) {
	return func(ctx context.Context) (io.ReadCloser, error) {
		body, err := c.openStream(ctx, u, false)
		return body, expired(err)
	}
}
