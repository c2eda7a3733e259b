package contract

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"strings"
)

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
		return manifestFault("It is not JSON of the form {\"references\": [{\"url\": \"https://…\", \"file\": \"…\"}]}.")
	}
	a.pinned = map[string]Pinned{}
	for i, p := range a.manifest.References {
		address, ok := Address(p.URL)
		switch {
		case !ok:
			return manifestFault(fmt.Sprintf("The url of reference %d, %q, is no absolute http or https address.", i+1, shorten(p.URL, 120)))
		case a.files[p.File] == nil || p.File == ManifestName:
			return manifestFault(fmt.Sprintf("The file of reference %d, %q, is not in the zip.", i+1, shorten(p.File, 120)))
		case a.byURL[address] != "" && a.byURL[address] != p.File:
			return manifestFault(fmt.Sprintf("The address %q has two files.", shorten(p.URL, 120)))
		}
		a.byURL[address], a.pinned[p.File] = p.File, p
		if final, ok := Address(p.FinalURL); ok && a.byURL[final] == "" {
			a.byURL[final] = p.File
		}
	}
	return nil
}

func manifestFault(detail string) *Finding {
	return archiveFault("archive-manifest", ManifestName, detail, "Correct the manifest, or let schakel contract bundle write it.")
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
