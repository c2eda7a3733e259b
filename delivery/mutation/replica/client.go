package replica

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// longestAnswer bounds an answer that is no delivery, in bytes; a manifest can hold a large polygon.
const longestAnswer = 16 << 20

// client asks a download API, again while it is busy or cannot be reached.
type client struct {
	o    RemoteOptions
	base *url.URL // without a slash at the end
	told sync.Once
}

// endSoon limits warnings to the last days of the certificate of a source.
const endSoon = 30 * 24 * time.Hour

// look logs once that the certificate of a host ends soon: after that nothing comes from there any more.
func (c *client) look(ctx context.Context, resp *http.Response) {
	if resp == nil || resp.TLS == nil || len(resp.TLS.PeerCertificates) == 0 {
		return
	}
	until := resp.TLS.PeerCertificates[0].NotAfter
	if until.Sub(c.o.Now()) >= endSoon {
		return
	}
	c.told.Do(func() {
		c.o.Log.WarnContext(ctx, "the TLS certificate of the source ends soon; ask who runs it to renew it", "host", resp.Request.URL.Host, "until", until.UTC())
	})
}

// answer holds the response to a request.
type answer struct {
	status int
	header http.Header
	body   []byte
	from   *url.URL
}

// statusError is an answer that is no success.
type statusError struct {
	status int
	kind   string // the last part of a problem's type, such as delta-expired
	text   string
	asked  string // the path that was asked for
}

func (e *statusError) Error() string {
	text := "the source answers"
	if e.asked != "" {
		text += " a request for " + e.asked
	}
	text += fmt.Sprintf(" with status %d", e.status)
	if e.text != "" {
		text += ": " + e.text
	}
	return text
}

// problem makes an error of an answer: of what it says itself (RFC 9457) when it does.
func (a answer) problem() error {
	var p struct{ Type, Title, Detail string }
	if json.Unmarshal(a.body, &p) != nil {
		p.Detail = strings.TrimSpace(string(a.body[:min(len(a.body), 300)]))
		if strings.HasPrefix(p.Detail, "<") {
			p.Detail = "" // a page for people
		}
	}
	p.Detail = cmp.Or(p.Detail, p.Title)
	e := &statusError{status: a.status, kind: p.Type[strings.LastIndexByte(p.Type, '/')+1:], text: short(p.Detail)}
	if a.from != nil {
		e.asked = short(a.from.Path)
	}
	return e
}

// temporary says of a status that the same question may succeed later.
func temporary(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// backoff is half a second, doubled every try, at most half a minute.
func backoff(try int) time.Duration { return min(500*time.Millisecond<<min(try, 10), 30*time.Second) }

// retryAfter reads Retry-After, in seconds or as a date; nonsense is no wait. It is bounded to an hour.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := h.Get("Retry-After")
	if s, err := strconv.Atoi(v); err == nil && s > 0 {
		return min(time.Duration(min(s, 3600))*time.Second, time.Hour)
	}
	if at, err := http.ParseTime(v); err == nil {
		return min(max(0, at.Sub(now)), time.Hour)
	}
	return 0
}

// ask gets an answer that is settled: not a temporary failure, unless that lasts for all tries.
func (c *client) ask(ctx context.Context, method string, u *url.URL, body []byte) (answer, error) {
	for try := 0; ; try++ {
		a, err := c.once(ctx, method, u, body)
		if err == nil && !temporary(a.status) {
			return a, nil
		}
		if err == nil {
			err = a.problem()
		}
		if errors.Is(err, ErrAccess) {
			return a, err
		}
		if try+1 >= c.o.Tries || ctx.Err() != nil {
			return a, fmt.Errorf("gave up after %d tries: %w", try+1, err)
		}
		c.o.Log.WarnContext(ctx, "the source is asked again", "path", u.Path, "err", err)
		if err := c.o.Wait(ctx, max(backoff(try), retryAfter(a.header, c.o.Now()))); err != nil {
			return a, err
		}
	}
}

func (c *client) once(ctx context.Context, method string, u *url.URL, body []byte) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Idle)
	defer cancel()
	resp, err := c.send(ctx, method, u, body, nil)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, longestAnswer+1))
	if err == nil && len(raw) > longestAnswer {
		err = fmt.Errorf("an answer of more than %d bytes", longestAnswer)
	}
	return answer{resp.StatusCode, resp.Header, raw, resp.Request.URL}, notEnd(err)
}

// send sends a request, with a token to the source itself and to nobody else; a token that was refused is renewed once.
func (c *client) send(ctx context.Context, method string, u *url.URL, body []byte, header http.Header) (*http.Response, error) {
	for renew := false; ; renew = true {
		req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
		if err != nil {
			return nil, fmt.Errorf("make request: %w", err)
		}
		for name, values := range header {
			req.Header[name] = values
		}
		if body != nil {
			req.Header.Set("Content-Type", "application/json")
		}
		if c.o.Agent != "" {
			req.Header.Set("User-Agent", c.o.Agent)
		}
		own := c.o.Token != nil && u.Scheme == c.base.Scheme && u.Host == c.base.Host
		if own {
			token, err := c.o.Token(ctx, renew)
			if err != nil {
				return nil, fmt.Errorf("get a token: %w", err)
			}
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := c.o.HTTP.Do(req)
		c.look(ctx, resp)
		if err != nil || !own || renew || resp.StatusCode != http.StatusUnauthorized {
			return resp, notEnd(err)
		}
		resp.Body.Close()
	}
}

// path is an address below the base, for the subscription that is followed. What answers refer to keeps that by itself.
func (c *client) path(elements ...string) *url.URL {
	u := c.base.JoinPath(elements...) // #nosec G125 -- JoinPath escapes what a part may not hold
	if c.o.Subscription != "" {
		u.RawQuery = url.Values{"subscriptionId": {c.o.Subscription}}.Encode()
	}
	return u
}

// link is the address that an answer refers to, which may be relative. A source that is reached by TLS may not lead away
// from that.
func (c *client) link(from *url.URL, href string) (*url.URL, error) {
	ref, err := url.Parse(href)
	if err != nil || href == "" {
		return nil, fmt.Errorf("the source refers to %.100q, which is no address", href)
	}
	u := from.ResolveReference(ref)
	if u.Scheme != "https" && u.Scheme != c.base.Scheme || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("the source refers to %.100q, where nothing is fetched from", u.Redacted())
	}
	return u, nil
}

// read decodes an answer that must be a success.
func (a answer) read(to any) error {
	if a.status < 200 || a.status > 299 {
		return a.problem()
	}
	if err := json.Unmarshal(a.body, to); err != nil {
		return fmt.Errorf("read the answer of %s: %w", a.from.Path, err)
	}
	return nil
}

// statusOf gives the status an error came of; 0 for other errors.
func statusOf(err error) (status int, kind string) {
	if e, ok := errors.AsType[*statusError](err); ok {
		return e.status, e.kind
	}
	return 0, ""
}

// headBytes bounds the part of a file that is looked at before it is known whether the copy may have it already, in bytes.
const headBytes = 64 << 10

// content reads a file and hashes its bytes, which distinguish it from others: deliveries of several registers share a delivery id
// (leveringsId).
type content struct {
	io.Closer
	in   io.Reader
	sum  hash.Hash
	head string // SHA-256 of the first headBytes, hexadecimal
}

func newContent(body io.ReadCloser) (*content, error) {
	in := bufio.NewReaderSize(body, headBytes)
	head, err := in.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the head of a file: %w", err)
	}
	sum := sha256.Sum256(head)
	c := &content{Closer: body, sum: sha256.New(), head: hex.EncodeToString(sum[:])}
	c.in = io.TeeReader(in, c.sum)
	return c, nil
}

// Read reads on.
func (c *content) Read(p []byte) (int, error) { return c.in.Read(p) }

// whole reads what is left, and gives the SHA-256 of all bytes, hexadecimal.
func (c *content) whole() (string, error) {
	if _, err := io.Copy(io.Discard, c.in); err != nil {
		return "", fmt.Errorf("read the rest of a file: %w", err)
	}
	return hex.EncodeToString(c.sum.Sum(nil)), nil
}

// errAgain is met when a file was read to its end to tell it from another one, and must be opened again to be applied.
var errAgain = errors.New("the file must be opened again")

// applied reports whether a delivery is in the copy, and why it is passed over then. One of a file is when its bytes were applied;
// of deliveries that came otherwise, or were applied before bytes were remembered, the id decides.
func (f *Follower) applied(ctx context.Context, d *Delivery) (why string, err error) {
	var sums []string
	byID := false
	err = f.db.inTx(ctx, func(t *transaction) error {
		var one int
		if byID, err = t.get(`SELECT 1 FROM follow_delivery WHERE copy = ? AND id = ? AND head = ''`, []any{f.copy.Name, d.ID}, &one); err != nil || d.content == nil {
			return err
		}
		return t.each(`SELECT id FROM follow_delivery WHERE copy = ? AND head = ?`, []any{f.copy.Name, d.content.head}, func(rows *sql.Rows) error {
			var id string
			err := rows.Scan(&id)
			sums = append(sums, id)
			return err
		})
	})
	switch {
	case err != nil:
		return "", err
	case byID && d.content != nil:
		return "the copy has a delivery with the id " + short(d.ID) + ", of which no bytes were remembered; make the copy anew to be sure of it (--anew)", nil
	case byID:
		return "the copy has it", nil
	case len(sums) == 0 || d.other:
		return "", nil
	}
	sum, err := d.content.whole()
	if err != nil {
		return "", err
	}
	for _, id := range sums {
		if id == contentID(sum) {
			return "the copy has these bytes", nil
		}
	}
	return "", errAgain
}

// contentID identifies a remembered file by its content.
func contentID(sum string) string { return "sha256:" + sum }
