package mirror

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"
)

// Kinds of registers.
const (
	Schakel  = "schakel"
	Catalog  = "catalog" // RFC 9727
	Apicurio = "apicurio"
	URLs     = "urls"
)

// What a register says of a version.
const (
	Published  = "published"
	Deprecated = "deprecated"
	Withdrawn  = "withdrawn"
)

// ErrGone is answered for what the register does not have (any more).
var ErrGone = errors.New("the source does not have it")

// Contract is a contract in a register.
type Contract struct {
	ID          string // as the register calls it
	Title       string // may be empty, as all that follows
	Description string
	Owner       string
	URL         string // where it is found
	CopyOf      string // set when the register reports that it is a copy itself, of this one
}

// Version is a version of a contract in a register.
type Version struct {
	Number  string // as the register writes it; empty when only the document tells
	URL     string // of its bytes
	Status  string
	Reason  string    // of the status
	Sunset  time.Time // until when a deprecated version can be used; zero: not known
	Digest  string    // SHA-256 in hex, as the register says; may be empty
	Content string    // media types to ask for; empty: any
}

// Document are the bytes of a version.
type Document struct {
	Content   []byte
	Tag       string // its ETag, or empty
	Unchanged bool   // the register reports no change since the tag that was sent
}

// Driver reads one register. Its errors may be shown to an administrator.
type Driver interface {
	// Contracts lists what the register has.
	Contracts(ctx context.Context) ([]Contract, error)
	// Versions lists the versions of a contract. Complete is set when these are all there are, so that one that is
	// not among them was withdrawn; ErrGone means that there is no such contract.
	Versions(ctx context.Context, c Contract) (list []Version, complete bool, err error)
	// Document fetches the bytes of a version, unless they are still those of the tag; ErrGone when there are none.
	Document(ctx context.Context, v Version, tag string) (Document, error)
}

// Doer sends requests. It must not follow redirects.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// Config says which register is read.
type Config struct {
	Kind   string
	URL    string   // of the register; not looked at for URLs
	List   []string // for URLs: an address a line, after the id of its contract or alone
	Secret string   // a bearer token; empty: none is sent
	HTTP   Doer
	// MaxDocument bounds a document, in bytes. Default 16 MiB.
	MaxDocument int64
	// Timeout bounds one request with its answer. Default a minute.
	Timeout time.Duration
}

// Open makes the driver of a register; nothing is fetched yet.
func Open(cfg Config) (Driver, error) {
	if cfg.MaxDocument <= 0 {
		cfg.MaxDocument = 16 << 20
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = time.Minute
	}
	c := &client{cfg: cfg}
	if cfg.Kind == URLs {
		return newList(c, cfg.List)
	}
	base, err := ParseURL(cfg.URL)
	if err != nil {
		return nil, err
	}
	c.base = base
	switch cfg.Kind {
	case Schakel:
		return &schakel{c}, nil
	case Catalog:
		return &catalog{c}, nil
	case Apicurio:
		return &apicurio{c}, nil
	}
	return nil, faulty(nil, "mirror.no-kind", cfg.Kind)
}

// ParseURL reads the address of a register or of a document: https or http, without credentials.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, faulty(nil, "mirror.no-address", text[:min(len(text), 200)])
	case u.User != nil:
		return nil, faulty(nil, "mirror.address-password")
	case u.Fragment != "":
		return nil, faulty(nil, "mirror.address-fragment")
	}
	return u, nil
}
