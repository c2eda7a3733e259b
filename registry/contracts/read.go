package contracts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"schakel/registry"
	"schakel/registry/contracts/contract"
	"schakel/store"
	"schakel/templates/i18n"
)

// ContractSummary is a contract with its latest version, if it has one.
type ContractSummary struct {
	store.Contract
	Latest store.ContractVersion // without an ID when nothing is published
}

// List lists the contracts a reader may see by title, with their total count. What the reader may see of the filter is set here.
func (c *Contracts) List(ctx context.Context, reader registry.Reader, f store.ContractFilter) ([]ContractSummary, int, error) {
	f.Sight, f.WithVersion = reader.Sight(), !reader.Administrator
	if hidden := f.Status == store.VersionDraft || f.Status == store.VersionWithdrawn; hidden && !reader.Administrator {
		if f.OwnerPartnerID != "" && f.OwnerPartnerID != reader.PartnerID || reader.PartnerID == "" {
			return nil, 0, nil
		}
		f.OwnerPartnerID = reader.PartnerID // others see neither
	}
	rows, total, err := c.cfg.DB.Contracts(ctx, f)
	if err != nil {
		return nil, 0, fmt.Errorf("list contracts: %w", err)
	}
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	latest, err := c.cfg.DB.LatestVersions(ctx, ids)
	if err != nil {
		return nil, 0, fmt.Errorf("find latest versions: %w", err)
	}
	list := make([]ContractSummary, len(rows))
	for i, row := range rows {
		list[i] = ContractSummary{row, latest[row.ID]}
	}
	return list, total, nil
}

// Get finds a contract a reader may see. One without a version the reader may see is not there for it.
func (c *Contracts) Get(ctx context.Context, reader registry.Reader, id string) (store.Contract, error) {
	row, err := c.cfg.DB.Contract(ctx, id)
	if err != nil {
		return store.Contract{}, registry.Found("contract", err)
	}
	if reader.Maintains(row) {
		return row, nil
	}
	seen, err := c.cfg.DB.SeesContract(ctx, reader.Sight(), id)
	if err != nil {
		return store.Contract{}, fmt.Errorf("look who sees the contract: %w", err)
	}
	if !seen {
		return store.Contract{}, registry.NotFound("contract")
	}
	latest, err := c.cfg.DB.LatestVersions(ctx, []string{id})
	if err != nil {
		return store.Contract{}, fmt.Errorf("find latest version: %w", err)
	}
	if len(latest) == 0 {
		return store.Contract{}, registry.NotFound("contract")
	}
	return row, nil
}

// Versions lists the versions of a contract a reader may see, highest first, without their documents.
func (c *Contracts) Versions(ctx context.Context, reader registry.Reader, id string) ([]store.ContractVersion, error) {
	row, err := c.Get(ctx, reader, id)
	if err != nil {
		return nil, err
	}
	versions, err := c.cfg.DB.ContractVersions(ctx, id, reader.Statuses(row)...)
	return versions, registry.Wrap("list contract versions", err)
}

// History lists the versions of a contract that were published, highest first and without their documents, also those that
// are withdrawn by now.
func (c *Contracts) History(ctx context.Context, about store.Contract) ([]store.ContractVersion, error) {
	versions, err := c.cfg.DB.ContractVersions(ctx, about.ID, store.VersionPublished, store.VersionDeprecated, store.VersionWithdrawn)
	return versions, registry.Wrap("list contract versions", err)
}

// Version finds one version of a contract a reader may see, or Latest, without its document.
func (c *Contracts) Version(ctx context.Context, reader registry.Reader, id, version string) (store.ContractVersion, error) {
	row, err := c.Get(ctx, reader, id)
	if err != nil {
		return store.ContractVersion{}, cmp.Or(c.withdrawn(ctx, reader, id, version), err)
	}
	if version == registry.Latest {
		latest, err := c.cfg.DB.LatestVersions(ctx, []string{id})
		if err != nil {
			return store.ContractVersion{}, fmt.Errorf("find latest version: %w", err)
		}
		if v, ok := latest[id]; ok {
			return v, nil
		}
		return store.ContractVersion{}, registry.NotFound("version")
	}
	v, err := c.cfg.DB.ContractVersion(ctx, id, version)
	if err != nil {
		return store.ContractVersion{}, registry.Found("version", err)
	}
	if !contains(reader.Statuses(row), v.Status) {
		return store.ContractVersion{}, cmp.Or(gone(v), registry.NotFound("version"))
	}
	return v, nil
}

// withdrawn is the error about a withdrawn version of a contract that has no other: a reader who could see the contract when
// the version was published is told that it is gone. It is nil for any other version.
func (c *Contracts) withdrawn(ctx context.Context, reader registry.Reader, id, version string) error {
	seen, err := c.cfg.DB.SeesContract(ctx, reader.Sight(), id)
	if err != nil || !seen {
		return err
	}
	v, err := c.cfg.DB.ContractVersion(ctx, id, version)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("read contract version: %w", err)
	}
	return gone(v)
}

// gone is the error about a version that is withdrawn; nil for another.
func gone(v store.ContractVersion) error {
	if v.Status != store.VersionWithdrawn {
		return nil
	}
	text := i18n.M("contracts.version-refused.withdrawn", v.Version, registry.FormatDay(v.WithdrawnAt))
	if v.StatusReason != "" {
		text = i18n.M("contracts.version-refused.withdrawn-because", v.Version, registry.FormatDay(v.WithdrawnAt), i18n.Message(v.StatusReason))
	}
	return &registry.Error{Code: registry.CodeGone, Message: text}
}

// stateWord names the state of a version within a sentence.
func stateWord(status string) i18n.Message {
	switch status {
	case store.VersionDraft:
		return "contracts.state.draft"
	case store.VersionPublished:
		return "contracts.state.published"
	case store.VersionDeprecated:
		return "contracts.state.deprecated"
	case store.VersionWithdrawn:
		return "contracts.state.withdrawn"
	}
	return i18n.Raw(status)
}

// Served finds a version whose document may be handed out: one that is withdrawn is gone, also for who maintains it.
func (c *Contracts) Served(ctx context.Context, reader registry.Reader, id, version string) (store.ContractVersion, error) {
	v, err := c.Version(ctx, reader, id, version)
	if err == nil {
		err = gone(v)
	}
	return v, err
}

// contains reports whether list has s; a nil list has all.
func contains(list []string, s string) bool {
	return list == nil || store.Strings(list).Contains(s)
}

// EventTypes lists the event types a version defines, by name. A draft fills the
// catalogue when it is published, and defines none before.
func (c *Contracts) EventTypes(ctx context.Context, reader registry.Reader, id, version string) ([]store.EventType, error) {
	v, err := c.Version(ctx, reader, id, version)
	if err != nil {
		return nil, err
	}
	rows, err := c.cfg.DB.EventTypesOf(ctx, v.ID)
	return rows, registry.Wrap("list event types", err)
}

// referenceOutside was the code of a reference to another file when such a document could still be published.
const referenceOutside = "reference-outside"

// Findings reads what was found in the document of a version at its upload. A draft that was uploaded when references to other
// files were let pass is judged as one that is uploaded now: it lacks what they lead to.
func Findings(v store.ContractVersion) ([]contract.Finding, error) {
	var list []contract.Finding
	if err := json.Unmarshal([]byte(v.Findings), &list); err != nil {
		return nil, fmt.Errorf("read findings: %w", err)
	}
	for i := range list {
		if list[i].Code == referenceOutside && v.Status == store.VersionDraft {
			list[i].Code, list[i].Severity = contract.CodeReferenceMissing, contract.SeverityError
			list[i].Remedy = "contracts.document.upload-zip"
		}
	}
	return list, nil
}

// Reader returns the reader that an actor is.
func (c *Contracts) Reader(ctx context.Context, actor registry.Actor) (registry.Reader, error) {
	switch {
	case actor.Administrator:
		return registry.Reader{Internal: true, Administrator: true}, nil
	case actor.PartnerID == "":
		return registry.Reader{}, nil
	}
	partner, err := c.cfg.DB.Partner(ctx, actor.PartnerID)
	return registry.ReaderOf(partner), registry.Found("partner", err)
}

// IncompleteError says that a version cannot be published while it refers to what
// was not uploaded. It is also an *Error of CodeConflict.
type IncompleteError struct {
	Version string
	// Missing are the references, each with its place.
	Missing []contract.Finding
}

// Error counts what is missing.
func (e *IncompleteError) Error() string {
	return fmt.Sprintf("version %s lacks what %d references lead to", e.Version, len(e.Missing))
}

// Unwrap makes it an *Error for whoever does not show the references.
func (e *IncompleteError) Unwrap() error {
	return registry.Conflict("contracts.version-refused.incomplete", e.Version, len(e.Missing))
}

// complete refuses a version that refers to what was not uploaded.
func complete(v store.ContractVersion) error {
	findings, err := Findings(v)
	if err != nil {
		return err
	}
	if missing := contract.Missing(findings); len(missing) > 0 {
		return &IncompleteError{Version: v.Version, Missing: missing}
	}
	return nil
}

// Files lists what the zip of a version holds; none when its document was uploaded by itself.
func Files(v store.ContractVersion) ([]contract.File, error) {
	if v.Files == "" {
		return nil, nil
	}
	var files []contract.File
	if err := json.Unmarshal([]byte(v.Files), &files); err != nil {
		return nil, fmt.Errorf("read files of version %s: %w", v.Version, err)
	}
	return files, nil
}

// Document reads the document of a version: what was uploaded, or the one that was
// made of the files of a zip. Its digest is that of v.DocumentDigest.
func (c *Contracts) Document(ctx context.Context, reader registry.Reader, id, version string) (store.ContractVersion, []byte, error) {
	return c.content(ctx, reader, id, version, c.cfg.DB.Document)
}

// Original reads what was uploaded as a version, byte for byte.
func (c *Contracts) Original(ctx context.Context, reader registry.Reader, id, version string) (store.ContractVersion, []byte, error) {
	return c.content(ctx, reader, id, version, c.cfg.DB.Original)
}

func (c *Contracts) content(ctx context.Context, reader registry.Reader, id, version string, read func(context.Context, string) ([]byte, error)) (store.ContractVersion, []byte, error) {
	v, err := c.Version(ctx, reader, id, version)
	if err != nil {
		return v, nil, err
	}
	content, err := read(ctx, v.ID)
	if errors.Is(err, store.ErrNotFound) {
		return v, nil, registry.NotFound("version")
	}
	return v, content, registry.Wrap("read contract", err)
}

// DeleteDraft removes a version that was never published.
func (c *Contracts) DeleteDraft(ctx context.Context, actor registry.Actor, id, version string) error {
	return c.change(ctx, actor, id, func(tx *store.Tx, row *store.Contract) error {
		v, err := tx.ContractVersion(ctx, id, version)
		if err != nil {
			return registry.Found("version", err)
		}
		if v.Status != store.VersionDraft {
			return registry.Conflict("contracts.version-refused.not-draft", v.Version, stateWord(v.Status))
		}
		if err := refuseCopy(ctx, tx, id); err != nil {
			return err
		}
		if err := tx.DeleteDraft(ctx, v.ID); err != nil {
			return fmt.Errorf("delete draft: %w", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionContractDraftDeleted, versionObject(*row, v), nil)
	})
}

// EventTypes are the catalogue: what can be subscribed to.
type EventTypes struct{ cfg registry.Config }

// NewEventTypes makes the service.
func NewEventTypes(cfg registry.Config) *EventTypes { return &EventTypes{cfg} }

// Catalogue lists every event type the reader may see once, by name.
func (e *EventTypes) Catalogue(ctx context.Context, reader registry.Reader) ([]store.EventType, error) {
	rows, err := e.cfg.DB.EventTypes(ctx, reader.Sight())
	return rows, registry.Wrap("list event types", err)
}

// Get finds an event type the reader may see, by name.
func (e *EventTypes) Get(ctx context.Context, reader registry.Reader, name string) (store.EventType, error) {
	t, err := e.cfg.DB.EventType(ctx, name)
	if err != nil {
		return store.EventType{}, registry.Found("event type", err)
	}
	seen, err := e.cfg.DB.SeesContract(ctx, reader.Sight(), t.ContractID)
	if err != nil {
		return store.EventType{}, fmt.Errorf("look who sees the event type: %w", err)
	}
	if !seen {
		return store.EventType{}, registry.NotFound("event type")
	}
	return t, nil
}

// LinesOf lists the lines of event types that a reader was shown, by name.
func (e *EventTypes) LinesOf(ctx context.Context, names ...string) (map[string][]registry.VersionLineOf, error) {
	rows, err := e.cfg.DB.EventTypeVersions(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("list versions of event types: %w", err)
	}
	byName := map[string][]store.EventType{}
	for _, r := range rows {
		byName[r.Name] = append(byName[r.Name], r)
	}
	lines := make(map[string][]registry.VersionLineOf, len(byName))
	for name, versions := range byName {
		lines[name] = registry.Lines(versions)
	}
	return lines, nil
}
