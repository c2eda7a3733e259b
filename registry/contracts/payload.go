package contracts

import (
	"fmt"
	"mime"
	"net/url"
	"strings"

	"schakel/registry"
	"schakel/registry/contracts/payload"
	"schakel/store"
	"schakel/templates/i18n"
)

// Payloads hold the data of events against the contract versions that define their type (CE-15, CE-18, EDU-08).
type Payloads struct {
	cfg     registry.Config
	checker *payload.Checker
}

// NewPayloads makes the service.
func NewPayloads(cfg registry.Config) *Payloads { return &Payloads{cfg, payload.NewChecker(0)} }

// maxPayload bounds the data that is held against a schema, in bytes. What is larger was kept apart, for receivers that want it.
const maxPayload = 4 << 20

// Codes of notes and findings about versions and media types; those about data are of registry/contracts/payload.
const (
	NoteUnchecked      = "payload-not-checked"
	NoteVersionUnclear = "version-unclear"
	findVersion        = "dataschema-unknown"
	findContentType    = "content-type-differs"
	findMissing        = "payload-missing"
)

// Note is something to tell the sender of an event that is taken.
type Note struct {
	Attribute, Code string
	Detail          i18n.Message
}

// Misfit names a place where an event does not fit: an attribute, or a place in data.
type Misfit struct {
	Attribute string // data, datacontenttype or dataschema
	Pointer   string // within the attribute
	Code      string
	Detail    i18n.Message
}

// Judgement holds the result of the check of an event against the versions of its type.
type Judgement struct {
	// Fits are the versions it fits, one of each line at most, as they were given.
	Fits []store.EventType
	// Against is the version that the misfits are about; they are empty when any fits.
	Against store.EventType
	Misfits []Misfit
	Notes   []Note
}

// Versions writes the versions that the event fits, with spaces between.
func (j *Judgement) Versions() string {
	if len(j.Fits) == 1 {
		return j.Fits[0].ContractVersion
	}
	var list []string
	for _, t := range j.Fits {
		list = append(list, t.ContractVersion)
	}
	return strings.Join(list, " ")
}

// versionsText lists the versions for people: "1.0.0 and 2.0.0".
func (j *Judgement) versionsText() i18n.Message {
	text := i18n.Raw(j.Fits[0].ContractVersion)
	for _, t := range j.Fits[1:] {
		text = i18n.M("contracts.payload.and", text, t.ContractVersion)
	}
	return text
}

// maxVersionsTried bounds the versions that one event is held against.
const maxVersionsTried = 20

// Judge holds an event against the versions in which its type can be used, as store.EventTypeVersions orders them. Where its
// dataschema points to one of them, that is the one (CE-18). Else it may fit the newest version of each line, or an older one
// where that is all it fits.
func (p *Payloads) Judge(o Offer, versions []store.EventType) (Judgement, error) {
	var j Judgement
	candidates, ours := p.named(o.DataSchema, versions)
	switch {
	case ours && candidates == nil:
		j.Misfits = []Misfit{{Attribute: "dataschema", Code: findVersion, Detail: "contracts.payload.version-unknown"}}
		if len(versions) > 0 {
			j.Against = versions[0]
		}
		return j, nil
	case !ours:
		candidates = versions[:min(len(versions), maxVersionsTried)]
	}
	for _, t := range candidates {
		if fitsLineOf(j.Fits, t) {
			continue
		}
		misfits, note, err := p.against(o, t)
		if err != nil {
			return j, err
		}
		if len(misfits) > 0 {
			if j.Against.ID == "" {
				j.Against, j.Misfits = t, misfits
			}
			continue
		}
		j.Fits = append(j.Fits, t)
		if note != nil {
			j.Notes = append(j.Notes, *note)
		}
	}
	if len(j.Fits) > 0 {
		j.Against, j.Misfits = store.EventType{}, nil
	}
	if len(j.Fits) > 1 {
		j.Notes = append(j.Notes, Note{"dataschema", NoteVersionUnclear, i18n.M("contracts.payload.version-unclear", j.versionsText())})
	}
	return j, nil
}

// NamedOnly tells the version that dataschema points to, without looking at the data; empty when it points to none.
func (p *Payloads) NamedOnly(dataSchema string, versions []store.EventType) string {
	if dataSchema == "" {
		return ""
	}
	named, _ := p.named(dataSchema, versions)
	j := Judgement{Fits: named}
	return j.Versions()
}

func fitsLineOf(fits []store.EventType, t store.EventType) bool {
	for _, f := range fits {
		if store.VersionLine(f.ContractVersion) == store.VersionLine(t.ContractVersion) {
			return true
		}
	}
	return false
}

// against holds an event against one version. What cannot be checked fits, with a note.
func (p *Payloads) against(o Offer, t store.EventType) ([]Misfit, *Note, error) {
	if !o.fitsContentType(t.ContentType) {
		return []Misfit{{Attribute: "datacontenttype", Code: findContentType, Detail: i18n.M("contracts.payload.content-type", t.ContractVersion, t.ContentType)}}, nil, nil
	}
	if t.DataSchema == "" || o.Elsewhere && o.Empty {
		return nil, nil, nil
	}
	schema, err := p.checker.Schema(t.ID, t.DataSchema)
	if err != nil {
		return nil, unchecked(i18n.M("contracts.payload.schema-unusable", t.ContractVersion)), nil
	}
	switch {
	case o.Empty:
		return p.withoutData(schema, t)
	case !o.JSON:
		return nil, nil, nil
	case len(o.Data) > maxPayload:
		return nil, unchecked("contracts.payload.too-large"), nil
	}
	found, err := schema.Check(o.Data)
	if err != nil {
		return nil, nil, fmt.Errorf("check data against %s %s: %w", t.ContractID, t.ContractVersion, err)
	}
	var misfits []Misfit
	for _, f := range found {
		misfits = append(misfits, Misfit{Attribute: "data", Pointer: f.Pointer, Code: f.Code, Detail: f.Detail})
	}
	return misfits, nil, nil
}

// withoutData judges an event that has no data: it fits where none is required, or null would do.
func (p *Payloads) withoutData(schema *payload.Schema, t store.EventType) ([]Misfit, *Note, error) {
	if !t.DataRequired {
		return nil, nil, nil
	}
	found, err := schema.Check([]byte("null"))
	if err != nil || len(found) == 0 {
		return nil, nil, err
	}
	return []Misfit{{Attribute: "data", Code: findMissing, Detail: i18n.M("contracts.payload.data-missing", t.ContractVersion)}}, nil, nil
}

// Trouble lists what keeps the data of an event type from being checked in full; empty when nothing does.
func (p *Payloads) Trouble(t store.EventType) []i18n.Message {
	if t.DataSchema == "" {
		return []i18n.Message{"contracts.payload.no-schema"}
	}
	schema, err := p.checker.Schema(t.ID, t.DataSchema)
	if err != nil {
		return []i18n.Message{i18n.M("contracts.payload.schema-trouble", err.Error())}
	}
	var list []i18n.Message
	for _, pattern := range schema.Unchecked() {
		list = append(list, i18n.M("contracts.payload.pattern", pattern))
	}
	return list
}

func unchecked(detail i18n.Message) *Note { return &Note{"data", NoteUnchecked, detail} }

func contractPathOf(t store.EventType) string {
	return "contracts/" + url.PathEscape(t.ContractID) + "/versions/" + url.PathEscape(t.ContractVersion)
}

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
