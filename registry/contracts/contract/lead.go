package contract

import (
	"bytes"
	"path"
	"strings"

	"schakel/registry/jsonpointer"
)

// Wanted is a reference to an address that is not in the zip.
type Wanted struct {
	// URL is absolute, without fragment.
	URL string
	// Ref is the reference as written, in line Line (from 1, 0 when unknown) of File.
	Ref, File string
	Line      int
	// Optional is set where the document is complete without: an example that stands elsewhere.
	Optional bool
}

// maxWanted bounds how many addresses are told.
const maxWanted = 10_000

// lead finds what a reference leads to; not ok when that is not in the zip.
//
// A reference is relative to the nearest $id around it, else to where its file comes from, else to the path of the file in
// the zip. Each is tried in that order, and then the $id of every file.
func (s *assembler) lead(ref string, h here) (target, bool) {
	from := s.parts[h.file]
	address, fragment, _ := strings.Cut(ref, "#")
	if address == "" && h.file != s.main { // in the document itself, a reference is to the document
		if at, ok := from.ids.lead(from.root, h.base, fragment); ok {
			return target{file: h.file, pointer: at}, true
		}
	}
	if _, at, how := from.refs.resolve(ref); how == found {
		return target{file: h.file, pointer: at}, true
	} else if how == missing {
		return target{}, false
	}
	full := resolveURI(h.base, address)
	if at, ok := from.ids.lead(from.root, full, fragment); ok {
		return target{file: h.file, pointer: at}, true
	}
	for _, name := range []string{s.archive.byURL[full], pathIn(h.file, address), s.identified(full, h.file, address)} {
		if p := s.open(name); p != nil {
			return s.within(name, p, full, fragment)
		}
	}
	s.want(full, ref, h.file)
	return target{}, false
}

// within finds what a fragment names in a file that has, or holds what has, an address.
func (s *assembler) within(name string, p *part, address, fragment string) (target, bool) {
	if at, ok := p.ids.lead(p.root, address, fragment); ok {
		return target{file: name, pointer: at}, true
	}
	if fragment == "" {
		return target{file: name}, true
	}
	_, at, how := p.refs.resolve("#" + fragment)
	return target{file: name, pointer: at}, how == found
}

// pathIn is the name in the zip of what a relative reference in a file leads to; "" when it is no path within the zip.
func pathIn(file, address string) string {
	address = decodeFragment(address)
	if strings.ContainsAny(address, ":?\\") || strings.HasPrefix(address, "/") {
		return ""
	}
	return path.Join(path.Dir(file), address)
}

// identified is the file in which something has the address as its $id; "" when none has. Files are read for it once, and
// only when a reference leads to none of them by address or path.
func (s *assembler) identified(address, file, relative string) string {
	if s.archive.byURL[address] != "" || s.archive.files[pathIn(file, relative)] != nil {
		return ""
	}
	if s.holders == nil {
		s.holders = map[string]string{}
		for _, name := range s.archive.names {
			if !isDocumentName(name) || name == s.main || name == ManifestName {
				continue
			}
			root := s.glance(name)
			if root == nil {
				continue
			}
			for id := range identify(root, s.archive.baseOf(name)).at {
				if s.holders[id] == "" {
					s.holders[id] = name
				}
			}
		}
	}
	return s.holders[address]
}

// glance reads a file without counting it as used; nil when it cannot be read, which is said when something refers to it.
func (s *assembler) glance(name string) any {
	if p := s.parts[name]; p != nil {
		return p.root
	}
	content, fault := s.archive.read(name)
	if fault != nil || !bytes.Contains(content, []byte("$id")) {
		return nil
	}
	s.archive.left += int64(len(content)) // it is read again when it is used
	d := &Document{content: content, limits: s.limits, Format: FormatYAML}
	if d.read() != nil {
		return nil
	}
	return d.Root
}

// want notes an address that could be fetched.
func (s *assembler) want(address, ref, file string) {
	if _, ok := Address(address); !ok || s.asked[address] || len(s.wanted) >= maxWanted {
		return
	}
	if s.asked == nil {
		s.asked = map[string]bool{}
	}
	s.asked[address] = true
	w := Wanted{URL: address, Ref: ref, File: file, Optional: s.optional}
	if d := s.parts[file].document; d != nil {
		if i := bytes.Index(d.content, []byte(ref)); i >= 0 {
			w.Line = 1 + bytes.Count(d.content[:i], []byte("\n"))
		}
	}
	s.wanted = append(s.wanted, w)
}

// identities holds what $id and $anchor name in a file (JSON Schema 2020-12, 8.2).
type identities struct {
	// at holds pointers by absolute address, with "#" and the name behind it for an anchor.
	at map[string]string
	// bases are the places with an $id, in the order of the file: what is above comes first.
	bases []identity
}

type identity struct{ pointer, base string }

// identify reads what is named in a file whose own address is base.
func identify(root any, base string) identities {
	ids := identities{at: map[string]string{}}
	walk(root, func(object map[string]any, at func() string) {
		id, isID := object["$id"].(string)
		anchor, isAnchor := object["$anchor"].(string)
		if !isID && !isAnchor || len(ids.at) >= maxAnchors {
			return
		}
		pointer := at()
		within := ids.base(pointer, base)
		if id, _, _ = strings.Cut(id, "#"); isID && id != "" {
			within = resolveURI(within, id)
			ids.at[within] = pointer
			ids.bases = append(ids.bases, identity{pointer, within})
		}
		if isAnchor {
			ids.at[within+"#"+anchor] = pointer
		}
	})
	return ids
}

// base is the address that references at a pointer are relative to.
func (ids identities) base(pointer, base string) string {
	for _, id := range ids.bases {
		if id.pointer == pointer || strings.HasPrefix(pointer, id.pointer+"/") {
			base = id.base
		}
	}
	return base
}

// lead finds what a fragment names within what has an address; not ok when the file has nothing of that name.
func (ids identities) lead(root any, address, fragment string) (pointer string, ok bool) {
	if fragment = decodeFragment(fragment); fragment != "" && fragment[0] != '/' {
		pointer, ok = ids.at[address+"#"+fragment]
		return pointer, ok
	}
	if pointer, ok = ids.at[address]; !ok {
		return "", false
	}
	_, ok = jsonpointer.Lookup(root, pointer+fragment)
	return pointer + fragment, ok
}
