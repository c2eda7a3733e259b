package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strings"

	"schakel/registry/jsonpointer"
	"schakel/templates/i18n"
)

// assembler brings the files of a zip together to one document.
type assembler struct {
	archive *archive
	main    string
	limits  Limits
	parts   map[string]*part
	kinds   grammar
	root    map[string]any // what becomes of the document
	names   map[target]string
	taken   map[string]map[string]bool // names of components by section
	queue   []queued
	changed bool // a reference was turned
	origins []origin
	nodes   int // that were written
	inPlace int // references that something was put in place of
	wanted  []Wanted
	asked   map[string]bool   // the addresses of wanted
	digests map[string]string // of the files that were fetched
	holders map[string]string // files by what has an $id in them; nil until it is needed
	fault   *Finding
	// optional is set while a reference is looked for that the document is complete without
	optional bool
}

type part struct {
	root     any
	refs     *resolver
	document *Document // for lines; nil for what is no JSON or YAML
	address  string    // that references in it are relative to
	ids      identities
}

func newPart(root any, d *Document, address string) *part {
	object, _ := root.(map[string]any)
	return &part{root: root, refs: newResolver(object), document: d, address: address, ids: identify(root, address)}
}

// base is the address that references at a pointer are relative to.
func (p *part) base(pointer string) string { return p.ids.base(pointer, p.address) }

// target names the component a reference leads to, by the section of components it is to stand in.
type target struct{ file, pointer, section string }

type queued struct {
	target
	kind, name string
}

func newAssembler(a *archive, main string) *assembler {
	return &assembler{archive: a, main: main, limits: a.limits, parts: map[string]*part{}, names: map[target]string{}, taken: map[string]map[string]bool{}, digests: map[string]string{}}
}

func (s *assembler) upload() (*Upload, []Finding, error) {
	content, fault := s.archive.read(s.main)
	if fault != nil {
		return nil, []Finding{*fault}, nil
	}
	d, findings, err := Parse(content, s.limits)
	if d == nil || err != nil {
		for i := range findings {
			findings[i].File, findings[i].FileLine = s.main, findings[i].Line
		}
		return nil, findings, err
	}
	root, ok := d.Root.(map[string]any)
	if !ok {
		return nil, nil, errors.New("assemble contract: a document that is no object")
	}
	s.parts[s.main] = newPart(root, d, s.archive.baseOf(s.main))
	if fault := s.pin(s.main, content); fault != nil {
		return nil, []Finding{*fault}, nil
	}
	document, content, err := s.document(d, content)
	if s.fault != nil || err != nil {
		return nil, faults(s.fault), err
	}
	if document == nil {
		return nil, faults(archiveFault("archive-too-large", s.main, "findings.files-too-large", "findings.split-contract-remedy")), nil
	}
	return &Upload{Document: document, Content: content, Files: s.listed(), Wanted: s.wanted, origins: s.origins, parts: s.parts}, nil, nil
}

func faults(f *Finding) []Finding {
	if f == nil {
		return nil
	}
	return []Finding{*f}
}

// document gives the one document: the file itself when it uses no other.
func (s *assembler) document(d *Document, content []byte) (*Document, []byte, error) {
	s.kinds = openAPIGrammar()
	if d.Kind == AsyncAPI {
		s.kinds = asyncAPIGrammar()
	}
	s.kinds[kindForeign] = nil
	s.origins = []origin{{file: s.main}}
	s.root, _ = s.copied("root", d.Root, here{file: s.main, base: s.parts[s.main].address}, 1).(map[string]any)
	for len(s.queue) > 0 && s.fault == nil {
		next := s.queue[0]
		s.queue = s.queue[1:]
		s.component(next)
	}
	if s.fault != nil {
		return nil, nil, nil
	}
	if !s.changed {
		return d, content, nil
	}
	written := writeOrdered(s.root)
	document, _, err := Parse(written, s.limits)
	return document, written, err
}

// component puts what was referred to under components.
func (s *assembler) component(next queued) {
	value, _ := jsonpointer.Lookup(s.parts[next.file].root, next.pointer)
	at := jsonpointer.Join("components", next.section, next.name)
	s.from(at, next.target)
	section := below(below(s.root, "components"), next.section)
	section[next.name] = s.copied(next.kind, value, here{file: next.file, base: s.parts[next.file].base(next.pointer), at: at}, 1)
}

// maxOrigins bounds the record of origins; parts beyond it count as of the part that holds them.
const maxOrigins = 10_000

// from notes where a part comes from.
func (s *assembler) from(at string, to target) {
	if len(s.origins) < maxOrigins {
		s.origins = append(s.origins, origin{at: at, file: to.file, pointer: to.pointer})
	}
}

// below gives a member that is an object, and makes it one where it is none.
func below(object map[string]any, key string) map[string]any {
	found, ok := object[key].(map[string]any)
	if !ok {
		found = map[string]any{}
		object[key] = found
	}
	return found
}

// place gives the name under which a target stands in components, and lets it be put there.
func (s *assembler) place(kind string, to target) string {
	if name, known := s.names[to]; known {
		return name
	}
	taken := s.taken[to.section]
	if taken == nil {
		taken = map[string]bool{}
		s.taken[to.section] = taken
		root, _ := s.parts[s.main].root.(map[string]any)
		for name := range child(child(root, "components"), to.section) {
			taken[name] = true
		}
	}
	name := freeName(taken, to)
	taken[name], s.names[to] = true, name
	s.queue = append(s.queue, queued{to, kind, name})
	return name
}

// freeName is a name after what a reference leads to that no other component has.
func freeName(taken map[string]bool, to target) string {
	base := strings.TrimSuffix(path.Base(to.file), path.Ext(to.file))
	if list, _ := jsonpointer.Tokens(to.pointer); len(list) > 0 {
		base = list[len(list)-1]
	}
	if base = strings.Trim(plainName(base), "."); base == "" {
		base = "part"
	}
	name := base
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return name
}

// open reads a file of the zip once; nil when it has none of that name, or it cannot be read.
func (s *assembler) open(name string) *part {
	if p, known := s.parts[name]; known {
		return p
	}
	if s.archive.files[name] == nil || s.fault != nil {
		return nil
	}
	p, fault := s.readPart(name)
	s.fault = fault
	if fault == nil {
		s.parts[name] = p
	}
	return p
}

// readPart reads a file as JSON, YAML or else as text.
func (s *assembler) readPart(name string) (*part, *Finding) {
	content, fault := s.archive.read(name)
	if fault != nil {
		return nil, fault
	}
	if fault := s.pin(name, content); fault != nil {
		return nil, fault
	}
	d := &Document{content: content, limits: s.limits, Format: FormatYAML}
	p := d.read()
	if p != nil && d.Format == FormatJSON && path.Ext(name) != ".json" { // YAML may start with a brace too
		if root, tree, second := readYAML(content, s.limits); second == nil {
			d.Root, d.tree, d.Format, p = root, tree, FormatYAML, nil
		}
	}
	if p != nil && isDocumentName(name) {
		f := p.finding(content)
		f.File, f.FileLine = name, f.Line
		return nil, &f
	}
	if p != nil {
		return newPart(strings.ToValidUTF8(string(content), "\ufffd"), nil, s.archive.baseOf(name)), nil
	}
	return newPart(d.Root, d, s.archive.baseOf(name)), nil
}

// pin holds what was fetched against the digest in the manifest.
func (s *assembler) pin(name string, content []byte) *Finding {
	p, fetched := s.archive.pinned[name]
	if !fetched {
		return nil
	}
	digest := Digest(content)
	if p.Digest != "" && p.Digest != digest {
		return archiveFault("archive-digest", name, i18n.M("findings.archive-digest", shorten(p.URL, 120), digest, shorten(p.Digest, 80)),
			"findings.archive-digest-remedy")
	}
	s.digests[name] = digest
	return nil
}

// Digest is the SHA-256 of content as "sha256:…", in lower-case hexadecimal.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// listed gives the files with what became of them.
func (s *assembler) listed() []File {
	var list []File
	for _, name := range s.archive.names {
		_, used := s.parts[name]
		from := s.archive.pinned[name]
		list = append(list, File{
			Name: name, Size: int64(s.archive.files[name].UncompressedSize64), Main: name == s.main, Used: used && name != s.main || name == ManifestName,
			URL: from.URL, FetchedAt: from.FetchedAt, Digest: s.digests[name],
		})
	}
	return list
}

// external deals with what leads out of a document without being a $ref. The value of an example that stands elsewhere is put in
// the example, when it is in the zip; the contract is complete without. The document with the operation that a link leads to
// is one of the files that stand for addresses, so that it is fetched once and stays what it was; the link itself leads to
// another API, at its address.
func (s *assembler) external(kind string, copied map[string]any, h here) {
	switch kind {
	case "example":
		s.externalValue(copied, h)
	case kindLink:
		s.operationRef(copied, h)
	}
}

// operationRef lets a link lead, from the one document, to where it led from its file: to the document itself, or to the
// address of another one. Where neither is known it stays, and Validate reports it as unresolved.
func (s *assembler) operationRef(copied map[string]any, h here) {
	ref := member(copied, "operationRef")
	if ref == "" {
		return
	}
	to, ok := s.lead(ref, h)
	address, pointer, _ := strings.Cut(ref, "#")
	full, away := Address(resolveURI(h.base, address))
	_, whole := Address(address)
	switch {
	case ok && to.file == s.main && (h.file != s.main || !whole && address != ""):
		copied["operationRef"], s.changed = "#"+fragment(to.pointer), true
	case away && !whole && (address != "" || ok && h.file != s.main):
		copied["operationRef"], s.changed = full+"#"+pointer, true
	}
}

func (s *assembler) externalValue(copied map[string]any, h here) {
	ref := member(copied, "externalValue")
	if _, said := copied["value"]; said || ref == "" {
		return
	}
	s.optional = true
	to, ok := s.lead(ref, h)
	s.optional = false
	if !ok || to.file == h.file || s.fault != nil {
		return
	}
	p := s.parts[to.file]
	value, there := jsonpointer.Lookup(p.root, to.pointer)
	text, isText := value.(string)
	if !there || value == nil || path.Ext(to.file) == ".avsc" {
		return
	}
	if s.nodes += size(value); isText {
		s.nodes += len(text) / 100
	}
	delete(copied, "externalValue")
	copied["value"], s.changed = value, true
	s.from(h.at, to)
}
