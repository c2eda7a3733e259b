package bundle

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"schakel/registry/contracts/contract"
)

// Doer sends requests. It decides where they may go, and follows no redirect.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// Config bounds and directs the fetching. Zero fields mean their defaults.
type Config struct {
	// HTTP sends the requests; required.
	HTTP Doer
	// Now is the clock of FetchedAt. Default time.Now.
	Now func() time.Time
	// MaxFiles bounds the fetched addresses. Default 5,000, the bound of a zip.
	MaxFiles int
	// MaxBytes bounds all files together, unpacked. Default 32 MiB, the bound of a zip.
	MaxBytes int64
	// MaxDepth bounds the chain of fetched files that lead on to the next. Default 50.
	MaxDepth int
	// MaxRedirects bounds the redirects of one address. Default 5.
	MaxRedirects int
	// Timeout bounds the fetch of one address. Default 30 s.
	Timeout time.Duration
	// TotalTimeout bounds all fetches together. Default 5 minutes.
	TotalTimeout time.Duration
	// Parallel bounds the addresses fetched at the same time. Default 4.
	Parallel int
}

func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	c.MaxFiles, c.MaxDepth, c.MaxRedirects = orElse(c.MaxFiles, 5000), orElse(c.MaxDepth, 50), orElse(c.MaxRedirects, 5)
	c.MaxBytes, c.Parallel = orElse(c.MaxBytes, 32<<20), orElse(c.Parallel, 4)
	c.Timeout, c.TotalTimeout = orElse(c.Timeout, 30*time.Second), orElse(c.TotalTimeout, 5*time.Minute)
	return c
}

func orElse[T int | int64 | time.Duration](value, standard T) T {
	if value <= 0 {
		return standard
	}
	return value
}

// Source names the document to bundle.
type Source struct {
	// Content is a document, or a zip of it with files that it refers to.
	Content []byte
	// Name is the file name of a document by itself; may be empty.
	Name string
	// Main is the document in a zip; empty: see [contract.ReadUpload].
	Main string
	// From is the address of a document by itself, as [Document] gives it; its relative references are relative to
	// that. The zero value for a document that was not.
	From contract.Pinned
}

// Result holds the bundle.
type Result struct {
	// Zip is the document with all that it refers to; the content as it was when nothing had to be fetched.
	Zip []byte
	// Fetched are the addresses that were fetched, in the order in which they were found.
	Fetched []contract.Pinned
}

// Make fetches all that a document refers to at addresses. The findings say why a document or a reference is no good, with
// the place of the reference; without them the result is complete, but for references that lead to no file and no address.
// The error is not nil for faults of the program, and when ctx ends.
func Make(ctx context.Context, cfg Config, in Source) (Result, []contract.Finding, error) {
	cfg = cfg.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, cfg.TotalTimeout)
	defer cancel()
	b, findings := open(in)
	if findings != nil {
		return Result{}, findings, nil
	}
	var result Result
	for depth := 0; ; depth++ {
		zip, err := b.pack()
		if err != nil {
			return result, nil, err
		}
		upload, findings, err := contract.ReadUpload(zip, in.Main, contract.Limits{})
		if err != nil || upload == nil {
			return result, findings, err
		}
		wanted := slices.DeleteFunc(upload.Wanted, func(w contract.Wanted) bool { return b.has(w.URL) })
		if len(wanted) == 0 {
			if result.Zip = zip; len(result.Fetched) == 0 && in.From.URL == "" {
				result.Zip = in.Content
			}
			return result, nil, nil
		}
		switch w := wanted[0]; {
		case depth == cfg.MaxDepth:
			return result, refusal(w, "fetch-too-deep", fmt.Sprintf("leads more than %d addresses deep", cfg.MaxDepth), "Put what is behind it in the zip, or let the contract refer to fewer levels."), nil
		case len(result.Fetched)+len(wanted) > cfg.MaxFiles:
			return result, refusal(w, "fetch-too-many", fmt.Sprintf("is one of more than %d addresses", cfg.MaxFiles), "Split the contract, or refer to fewer addresses."), nil
		}
		fetched, findings, err := b.fetch(ctx, cfg, wanted)
		if findings != nil || err != nil {
			return result, findings, err
		}
		result.Fetched = append(result.Fetched, fetched...)
	}
}

// Document fetches a document by its address, to bundle it. The findings say why it could not be fetched.
func Document(ctx context.Context, cfg Config, address string) (content []byte, from contract.Pinned, findings []contract.Finding) {
	g := get(ctx, cfg.withDefaults(), address)
	if g.code != "" {
		return nil, from, refusal(contract.Wanted{Ref: address}, g.code, g.why, g.remedy)
	}
	return g.content, g.pinned, nil
}

// Same reports whether two zips hold the same files for the same addresses, whenever those were fetched.
func Same(a, b []byte) bool {
	names, files, manifest, fault := contract.Unpack(a)
	names2, files2, manifest2, fault2 := contract.Unpack(b)
	if fault != nil || fault2 != nil || manifest.Main != manifest2.Main || !slices.Equal(names, names2) {
		return false
	}
	for _, m := range []contract.Manifest{manifest, manifest2} {
		for i := range m.References {
			m.References[i].FetchedAt = ""
		}
	}
	return slices.Equal(manifest.References, manifest2.References) && maps.EqualFunc(files, files2, bytes.Equal)
}

// refusal is the finding about a reference that cannot be fetched.
func refusal(w contract.Wanted, code, what, remedy string) []contract.Finding {
	return []contract.Finding{{
		Severity: contract.SeverityError, Code: code, File: w.File, FileLine: w.Line, Line: max(1, w.Line), Column: 1,
		Detail: fmt.Sprintf("The reference %q %s.", shorten(w.Ref), what), Remedy: remedy,
	}}
}

// shorten cuts a text for a message.
func shorten(text string) string {
	text = strings.ToValidUTF8(text, "?")
	if r := []rune(text); len(r) > 200 {
		return string(r[:200]) + "…"
	}
	return text
}
