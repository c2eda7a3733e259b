package contract

import (
	"encoding/json"
	"net/url"
	"path"
	"strings"

	"schakel/templates/i18n"
)

// Upload is a document as it was brought in: by itself, or as a zip with the files that it refers to.
type Upload struct {
	// Document is the contract as one document; Content are its bytes. For a zip whose document refers to other files,
	// it is JSON in which what these hold stands under components (see [ReadUpload]).
	Document *Document
	Content  []byte
	// Files holds the files of the zip, by name; empty for a document by itself.
	Files []File
	// Wanted are the references to addresses that are not in the zip.
	Wanted []Wanted

	origins []origin
	parts   map[string]*part
}

// origin gives the file a part of the bundle comes from.
type origin struct {
	at      string // pointer in the bundle
	file    string
	pointer string // in that file
}

// ReadUpload reads a document, or a zip that holds it with the files that it refers to; main names the document in the
// zip, empty for the only file at its top, or the only one there that is called openapi or asyncapi.
//
// The files of a zip are brought together to one document, the same one for the same zip: each reference to another file
// becomes one to a component that holds what it led to, named after it. Where no such component is possible, such as in a
// schema of another language, it is put in place of the reference. A reference to an address leads to the file that the
// [Manifest] of the zip names for it. References that lead out of the zip stay as they are,
// and are found by Validate; nothing is fetched. As with [Parse], the upload is nil when the findings say why.
func ReadUpload(content []byte, main string, limits Limits) (*Upload, []Finding, error) {
	if !IsArchive(content) {
		d, findings, err := Parse(content, limits)
		if d == nil || err != nil {
			return nil, findings, err
		}
		return &Upload{Document: d, Content: content}, nil, nil
	}
	limits = limits.withDefaults()
	a, fault := openArchive(content, limits)
	if fault != nil {
		return nil, []Finding{*fault}, nil
	}
	name, fault := a.main(main)
	if fault != nil {
		return nil, []Finding{*fault}, nil
	}
	return newAssembler(a, name).upload()
}

// Validate validates the document and gives each finding the file and line it comes from.
func (u *Upload) Validate() []Finding {
	findings := u.Document.Validate()
	u.trace(findings)
	return findings
}

// trace fills in the files that findings come from.
func (u *Upload) trace(findings []Finding) {
	if len(u.origins) == 0 {
		return
	}
	byFile := map[string][]int{}
	pointers := make([]string, len(findings))
	for i, f := range findings {
		from := u.origin(f.Pointer)
		findings[i].File, pointers[i] = from.file, from.pointer+strings.TrimPrefix(f.Pointer, from.at)
		byFile[from.file] = append(byFile[from.file], i)
	}
	for _, name := range sortedKeys(byFile) {
		var wanted []Finding
		for _, i := range byFile[name] {
			wanted = append(wanted, Finding{Pointer: pointers[i]})
		}
		if p := u.parts[name]; p != nil && p.document != nil {
			p.document.place(wanted)
		}
		for n, i := range byFile[name] {
			findings[i].FileLine = wanted[n].Line
		}
	}
}

// origin finds where the nearest part at or above a pointer comes from; the first is the whole document.
func (u *Upload) origin(pointer string) origin {
	best := u.origins[0]
	for _, o := range u.origins[1:] {
		if (pointer == o.at || strings.HasPrefix(pointer, o.at+"/")) && len(o.at) >= len(best.at) {
			best = o
		}
	}
	return best
}

// ManifestName is the file of a zip that maps addresses to its files.
const ManifestName = "schakel-references.json"

// Manifest maps addresses to files of the same zip, so that a reference to an address leads to the file (EDU-21). It lies
// beside the document, as schakel-references.json.
type Manifest struct {
	// Main is the document; empty: see [ReadUpload].
	Main string `json:"main,omitempty"`
	// References are the addresses, each once.
	References []Pinned `json:"references"`
}

// Pinned describes a file fetched from an address when the zip was made. URL and File are required.
type Pinned struct {
	// URL is absolute, http or https, without fragment; references in the file are relative to it.
	URL string `json:"url"`
	// File is a path in the zip, relative to the manifest.
	File string `json:"file"`
	// FinalURL holds the address redirects led to, when another; references in the file are relative to it then.
	FinalURL string `json:"finalUrl,omitempty"`
	// FetchedAt is a time as RFC 3339 writes it.
	FetchedAt string `json:"fetchedAt,omitempty"`
	// Digest is "sha256:" with the SHA-256 of the file in lower-case hexadecimal. The zip is refused when the file has another.
	Digest string `json:"digest,omitempty"`
	// MediaType is the one that came with it.
	MediaType string `json:"mediaType,omitempty"`
}

// readManifest reads the manifest of a zip, if it has one.
func (a *archive) readManifest() *Finding {
	if a.files[ManifestName] == nil {
		return nil
	}
	content, fault := a.read(ManifestName)
	if fault != nil {
		return fault
	}
	if err := json.Unmarshal(content, &a.manifest); err != nil {
		return manifestFault("findings.manifest-json")
	}
	a.pinned = map[string]Pinned{}
	for i, p := range a.manifest.References {
		address, ok := Address(p.URL)
		switch {
		case !ok:
			return manifestFault(i18n.M("findings.manifest-url", i+1, shorten(p.URL, 120)))
		case a.files[p.File] == nil || p.File == ManifestName:
			return manifestFault(i18n.M("findings.manifest-file", i+1, shorten(p.File, 120)))
		case a.byURL[address] != "" && a.byURL[address] != p.File:
			return manifestFault(i18n.M("findings.manifest-twice", shorten(p.URL, 120)))
		}
		a.byURL[address], a.pinned[p.File] = p.File, p
		if final, ok := Address(p.FinalURL); ok && a.byURL[final] == "" {
			a.byURL[final] = p.File
		}
	}
	return nil
}

func manifestFault(detail i18n.Message) *Finding {
	return archiveFault("archive-manifest", ManifestName, detail, "findings.manifest-remedy")
}

// Address gives an absolute http or https address without its fragment, as references are compared; not ok for another text.
func Address(raw string) (string, bool) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return "", false
	}
	u.Fragment, u.RawFragment = "", ""
	u.Host = strings.ToLower(u.Host)
	if u.Path == "" {
		u.Path = "/"
	}
	return u.String(), true
}

// baseOf is the address that references in a file are relative to: where it comes from, or one in the zip.
func (a *archive) baseOf(name string) string {
	p := a.pinned[name]
	for _, from := range []string{p.FinalURL, p.URL} {
		if address, ok := Address(from); ok {
			return address
		}
	}
	return (&url.URL{Scheme: "zip", Path: path.Join("/", name)}).String()
}

// resolveURI gives the address that a reference without fragment leads to; "" when it is none.
func resolveURI(base, ref string) string {
	from, err := url.Parse(base)
	if err != nil {
		return ""
	}
	to, err := from.Parse(ref)
	if err != nil {
		return ""
	}
	if address, ok := Address(to.String()); ok {
		return address
	}
	to.Fragment, to.RawFragment = "", ""
	return to.String()
}
