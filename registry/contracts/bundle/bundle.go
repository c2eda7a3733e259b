package bundle

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"schakel/registry/contracts/contract"
	"schakel/templates/i18n"
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
			return result, refusal(w, "fetch-too-deep", "findings.fetch-too-deep-remedy", "findings.fetch-too-deep", cfg.MaxDepth), nil
		case len(result.Fetched)+len(wanted) > cfg.MaxFiles:
			return result, refusal(w, "fetch-too-many", "findings.fetch-too-many-remedy", "findings.fetch-too-many", cfg.MaxFiles), nil
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
		return nil, from, refusal(contract.Wanted{Ref: address}, g.code, g.remedy, g.why, g.args...)
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

// refusal is the finding about a reference that cannot be fetched. The first argument of the text why is the reference.
func refusal(w contract.Wanted, code string, remedy i18n.Message, why string, args ...any) []contract.Finding {
	return []contract.Finding{{
		Severity: contract.SeverityError, Code: code, File: w.File, FileLine: w.Line, Line: max(1, w.Line), Column: 1,
		Detail: i18n.M(why, append([]any{shorten(w.Ref)}, args...)...), Remedy: remedy,
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

type files struct {
	names    []string // in the order in which they are packed
	folded   map[string]bool
	content  map[string][]byte
	manifest contract.Manifest
	urls     map[string]bool // addresses of the manifest
	total    int64           // bytes of content
}

// open takes a document, or the files of a zip that was found sound.
func open(in Source) (*files, []contract.Finding) {
	b := &files{content: map[string][]byte{}, urls: map[string]bool{}, folded: map[string]bool{}}
	if !contract.IsArchive(in.Content) {
		doc, findings, err := contract.Parse(in.Content, contract.Limits{})
		if err != nil || doc == nil {
			return nil, append(findings, fault(err)...)
		}
		name := mainName(in.Name, doc)
		b.add(name, in.Content)
		b.manifest.Main = name
		if in.From.URL != "" {
			in.From.File = name
			b.pin(in.From)
		}
		return b, nil
	}
	list, content, manifest, findings := contract.Unpack(in.Content)
	if findings != nil {
		return nil, findings
	}
	b.manifest.Main = manifest.Main
	for _, name := range list {
		b.add(name, content[name])
	}
	for _, p := range manifest.References {
		b.pin(p)
	}
	return b, nil
}

func fault(err error) []contract.Finding {
	if err == nil {
		return nil
	}
	return []contract.Finding{{Severity: contract.SeverityError, Code: "document-empty", Detail: "findings.no-document", Line: 1, Column: 1}}
}

// mainName is the name of the document in the zip: its own when it shows the format, else one after its kind.
func mainName(name string, doc *contract.Document) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	if ext := strings.ToLower(path.Ext(name)); len(name) < 100 && slices.Contains([]string{".json", ".yaml", ".yml"}, ext) && clean(name) == name && name[0] != '.' {
		return name
	}
	return string(doc.Kind) + "." + doc.Format
}

func (b *files) add(name string, content []byte) {
	b.names = append(b.names, name)
	b.folded[strings.ToLower(name)] = true
	b.content[name] = content
	b.total += int64(len(content))
}

func (b *files) pin(p contract.Pinned) {
	b.manifest.References = append(b.manifest.References, p)
	for _, raw := range []string{p.URL, p.FinalURL} {
		if address, ok := contract.Address(raw); ok {
			b.urls[address] = true
		}
	}
}

func (b *files) has(address string) bool { return b.urls[address] }

// pack writes the zip. The same files give the same bytes.
func (b *files) pack() ([]byte, error) {
	manifest, err := json.MarshalIndent(b.manifest, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write manifest: %w", err)
	}
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	put := func(name string, content []byte) error {
		entry, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err == nil {
			_, err = io.Copy(entry, bytes.NewReader(content))
		}
		return err
	}
	for _, name := range b.names {
		if err := put(name, b.content[name]); err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
	}
	if len(b.manifest.References) > 0 {
		err = put(contract.ManifestName, append(manifest, '\n'))
	}
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("pack manifest: %w", err)
	}
	return packed.Bytes(), nil
}

// free gives an unused name in the zip for a file of an address: host and path, so that people recognise it, and an
// extension for its format.
func (b *files) free(address, ext string) string {
	u, err := url.Parse(address)
	if err != nil {
		u = &url.URL{}
	}
	base := "references/" + clean(u.Host) + "/" + clean(strings.Trim(u.Path, "/"))
	base = strings.TrimSuffix(base, "/")
	if len(base) > 200 {
		base = base[:200]
	}
	if old := path.Ext(base); strings.EqualFold(old, ext) || old == ".yml" && ext == ".yaml" {
		ext, base = old, strings.TrimSuffix(base, old)
	}
	name := base + ext
	for n := 2; b.taken(name); n++ {
		name = fmt.Sprintf("%s-%d%s", base, n, ext)
	}
	return name
}

// taken compares without case, as a zip may hold no two names that differ by case only.
func (b *files) taken(name string) bool {
	return b.folded[strings.ToLower(name)] || strings.EqualFold(name, contract.ManifestName)
}

// clean keeps what names may have on every system; slashes divide, and no part begins with a dot.
func clean(name string) string {
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		part = strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("-._", r) {
				return r
			}
			return '_'
		}, part)
		if part = strings.TrimLeft(part, "."); part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "/")
}
