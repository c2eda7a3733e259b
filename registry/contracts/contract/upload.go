package contract

import (
	"strings"
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
