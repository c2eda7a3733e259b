package bundle

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"schakel/registry/contracts/contract"
)

// files holds the files of the zip in the making.
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
	return []contract.Finding{{Severity: contract.SeverityError, Code: "document-empty", Detail: "There is no document.", Line: 1, Column: 1}}
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
