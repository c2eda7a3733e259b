package contracts

import (
	"mime"
	"strings"

	"schakel/store"
)

// Offer holds an event's data and the attributes about it, to check it against a contract.
type Offer struct {
	DataSchema  string // its dataschema, or empty
	ContentType string // its datacontenttype, or empty
	// JSON is set when Data is a JSON value; other data is not looked into.
	JSON bool
	Data []byte
	// Empty is set when it has no data; Elsewhere when it refers to data elsewhere (dataref).
	Empty, Elsewhere bool
}

// fitsContentType reports whether the media type is that of the contract; parameters do not count. Without one the data is
// JSON, of any kind that the contract names.
func (o *Offer) fitsContentType(want string) bool {
	if o.Empty || want == "" || strings.EqualFold(o.ContentType, want) {
		return true
	}
	want = mediaType(want)
	if o.ContentType == "" {
		return isJSONType(want)
	}
	return strings.EqualFold(mediaType(o.ContentType), want)
}

func mediaType(contentType string) string {
	if kind, _, err := mime.ParseMediaType(contentType); err == nil {
		return kind
	}
	return strings.TrimSpace(contentType)
}

func isJSONType(kind string) bool {
	return kind == "application/json" || kind == "text/json" || strings.HasSuffix(kind, "+json")
}

// named finds the version of an event type that dataschema points to (CE-18). ours is set when it points into this
// register, whether or not the version is there.
func (p *Payloads) named(dataSchema string, versions []store.EventType) (named []store.EventType, ours bool) {
	path, ours := strings.CutPrefix(dataSchema, p.cfg.BaseURL+"/")
	if !ours {
		return nil, false
	}
	path = strings.TrimPrefix(path, "registry/v1/")
	if !strings.HasPrefix(path, "contracts/") {
		return nil, false
	}
	for _, v := range versions {
		rest, ok := strings.CutPrefix(path, contractPathOf(v))
		if ok && (rest == "" || rest[0] == '/' || rest[0] == '#' || rest[0] == '?') {
			return []store.EventType{v}, true
		}
	}
	return nil, true
}
