package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Bounds of what a register may tell.
const (
	maxList      = 8 << 20 // bytes of one page of a list
	maxPages     = 100
	maxContracts = 2000
	maxVersions  = 500 // of one contract
	maxField     = 2000
	maxTag       = 200
)

type client struct {
	cfg  Config
	base *url.URL // nil for a list of addresses, to which no key belongs
}

type answer struct {
	header http.Header
	body   []byte
	same   bool // 304
}

// get asks one address for at most the bytes given.
func (c *client) get(ctx context.Context, address, accept, tag string, most int64) (answer, error) {
	u, err := ParseURL(address)
	if err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return answer{}, faulty(err, "mirror.ask", u.Host, err.Error())
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	if tag != "" {
		req.Header.Set("If-None-Match", tag)
	}
	if c.cfg.Secret != "" && c.home(u) {
		req.Header.Set("Authorization", "Bearer "+c.cfg.Secret)
	}
	resp, err := c.cfg.HTTP.Do(req)
	if err != nil {
		return answer{}, unwrapURL(err)
	}
	defer resp.Body.Close()
	if err := judge(resp, u, tag != ""); err != nil {
		return answer{}, err
	}
	if resp.StatusCode == http.StatusNotModified {
		return answer{header: resp.Header, same: true}, nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err != nil {
		return answer{}, faulty(unwrapURL(err), "mirror.read-answer", u.Host, unwrapURL(err).Error())
	}
	if int64(len(body)) > most {
		return answer{}, faulty(nil, "mirror.answer-too-large", u.Host, most)
	}
	return answer{header: resp.Header, body: body}, nil
}

// home reports whether an address is at the register itself: no other host gets its key.
func (c *client) home(u *url.URL) bool {
	return c.base != nil && strings.EqualFold(u.Host, c.base.Host) && u.Scheme == c.base.Scheme
}

// unwrapURL leaves out the address that net/http puts around an error: the text of the cause is meant to be shown.
func unwrapURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// judge gives the reason a response is of no use.
func judge(resp *http.Response, u *url.URL, tagged bool) error {
	switch status := resp.StatusCode; {
	case status == http.StatusOK, status == http.StatusNotModified && tagged:
		return nil
	case status == http.StatusNotFound, status == http.StatusGone:
		return faulty(ErrGone, "mirror.answered-gone", u.Host, strconv.Itoa(status))
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return faulty(nil, "mirror.answered-key", u.Host, strconv.Itoa(status))
	case status >= 300 && status < 400:
		return faulty(nil, "mirror.answered-redirect", u.Host, strconv.Itoa(status))
	case status == http.StatusTooManyRequests, status >= 500:
		return faulty(nil, "mirror.answered-later", u.Host, strconv.Itoa(status))
	default:
		return faulty(nil, "mirror.answered", u.Host, strconv.Itoa(status))
	}
}

// list asks one page of a list and reads it into dest.
func (c *client) list(ctx context.Context, address, accept string, dest any) (answer, error) {
	a, err := c.get(ctx, address, accept, "", maxList)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(a.body, dest); err != nil {
		return a, faulty(nil, "mirror.answer-no-json", hostOf(address))
	}
	return a, nil
}

func (c *client) document(ctx context.Context, v Version, tag string) (Document, error) {
	a, err := c.get(ctx, v.URL, v.Content, tag, c.cfg.MaxDocument)
	if err != nil {
		return Document{}, err
	}
	if a.same {
		return Document{Tag: tag, Unchanged: true}, nil
	}
	d := Document{Content: a.body, Tag: a.header.Get("ETag")}
	if len(d.Tag) > maxTag || strings.ContainsFunc(d.Tag, func(r rune) bool { return r < ' ' || r > '~' }) {
		d.Tag = ""
	}
	return d, nil
}

func (c *client) at(path string, query url.Values) string {
	u := *c.base
	u.RawQuery = query.Encode()
	return strings.TrimSuffix(u.Scheme+"://"+u.Host+u.EscapedPath(), "/") + path + mark(u.RawQuery)
}

func mark(query string) string {
	if query == "" {
		return ""
	}
	return "?" + query
}

func hostOf(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Host
	}
	return address
}

// tooMany is the error for a list of contracts longer than we read.
func tooMany(most int) error { return faulty(nil, "mirror.too-many-contracts", most) }

// tooManyCatalogues is the error for a catalogue with more others in it than we read.
func tooManyCatalogues() error { return faulty(nil, "mirror.too-many-catalogues", maxCatalogs) }

// tooManyVersions is the error for a contract with more versions than we read.
func tooManyVersions(id string) error {
	return faulty(nil, "mirror.too-many-versions", maxVersions, id)
}

// field is text of a register as it may be shown: of a bounded length, without what cannot be stored.
func field(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
	if runes := []rune(text); len(runes) > maxField {
		text = string(runes[:maxField])
	}
	return strings.TrimSpace(text)
}
