package contracts

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"schakel/registry"
	"schakel/registry/contracts/mirror"
	"schakel/store"
	"schakel/templates/i18n"
)

const mirrorSecretPurpose = "mirror-secret"

// Bounds of a mirror.
const (
	mostMirrors       = 100
	leastMirrorPause  = 5 * time.Minute
	maxMirrorPrefix   = 30
	maxMirrorPatterns = 200
)

// MirrorInput holds the input for a mirror: a source, a selection and a schedule.
type MirrorInput struct {
	Name      string
	Kind      string   // schakel, catalog, apicurio or urls; it stays what it was
	URL       string   // of the register
	URLs      []string // for urls: addresses, each alone or after an id
	PartnerID string   // whose register it is; may be empty
	Secret    string   // a bearer token or read-only key; empty keeps what is there
	NoSecret  bool     // forget the key that is there
	Schedule  string   // as cron writes it, UTC
	Contracts []string // ids there, where * stands for anything; empty is all
	Prefix    string   // of the ids of the copies; it stays what it was. Empty: made of the name
	Enabled   bool
}

// InputOfMirror is a source as it is, to be changed; without its key.
func InputOfMirror(s store.MirrorSource) MirrorInput {
	return MirrorInput{
		Name: s.Name, Kind: s.Kind, URL: s.URL, URLs: s.URLs, PartnerID: s.PartnerID, Schedule: s.Schedule,
		Contracts: s.Contracts, Prefix: s.Prefix, Enabled: s.Enabled,
	}
}

func (in MirrorInput) clean() MirrorInput {
	for _, s := range []*string{&in.Name, &in.URL, &in.Secret, &in.Schedule, &in.Prefix, &in.PartnerID} {
		*s = strings.TrimSpace(*s)
	}
	if in.Prefix == "" {
		in.Prefix = cutSlug(slugOf(in.Name), maxMirrorPrefix)
	}
	in.URLs, in.Contracts = registry.Filled(in.URLs), registry.Filled(in.Contracts)
	if in.Kind == store.MirrorURLs {
		in.URL = ""
	} else {
		in.URLs = nil
	}
	return in
}

func (m *Mirrors) check(in MirrorInput) registry.Problems {
	wrong := registry.Problems{}
	wrong.Add("name", registry.CheckLine(in.Name, 2, 100))
	kinds := []string{store.MirrorSchakel, store.MirrorCatalog, store.MirrorApicurio, store.MirrorURLs}
	wrong.AddIf(!slices.Contains(kinds, in.Kind), "kind", "contracts.mirror-refused.kind")
	if in.Kind == store.MirrorURLs {
		wrong.Add("urls", m.checkList(in.URLs))
	} else {
		wrong.Add("url", m.checkAddress(in.URL))
	}
	wrong.AddIf(strings.ContainsFunc(in.Secret, func(r rune) bool { return r <= ' ' || r > '~' }) || len(in.Secret) > 4000,
		"secret", "contracts.mirror-refused.key")
	if _, err := parseSchedule(in.Schedule); err != nil {
		wrong.Add("schedule", i18n.Raw(registry.AsSentence(err.Error())))
	}
	wrong.AddIf(len(in.Contracts) > maxMirrorPatterns, "contracts", "contracts.mirror-refused.most-ids")
	for _, p := range in.Contracts {
		wrong.Add("contracts", registry.CheckLine(p, 1, 300))
	}
	if text := checkContractID(in.Prefix); text != "" || len(in.Prefix) > maxMirrorPrefix {
		wrong.Add("prefix", "contracts.mirror-refused.prefix")
	}
	return wrong
}

func (m *Mirrors) checkAddress(text string) i18n.Message {
	if text == "" {
		return "contracts.mirror-refused.address-missing"
	}
	if _, err := mirror.ParseURL(text); err != nil {
		return i18n.Raw(registry.AsSentence(err.Error()))
	}
	if err := m.cfg.CheckURL(text); err != nil {
		return registry.AddressProblem(err)
	}
	return ""
}

func (m *Mirrors) checkList(lines []string) i18n.Message {
	entries, err := mirror.ParseList(lines)
	if err != nil {
		return i18n.Raw(registry.AsSentence(err.Error()))
	}
	if len(entries) == 0 {
		return "contracts.mirror-refused.addresses-missing"
	}
	for _, e := range entries {
		if text := registry.CheckLine(e.ID, 1, 300); text != "" {
			return text
		}
		if err := m.cfg.CheckURL(e.URL); err != nil {
			return i18n.M("contracts.mirror-refused.address-bad", e.URL, registry.AddressProblem(err))
		}
	}
	return ""
}

func parseSchedule(text string) (cron.Schedule, error) {
	return registry.ParseSchedule(text, leastMirrorPause)
}

// Create adds a source. Fields: name, kind, url, urls, partnerId, secret, schedule, contracts, prefix.
func (m *Mirrors) Create(ctx context.Context, actor registry.Actor, in MirrorInput) (store.MirrorSource, error) {
	if err := m.allow(ctx, actor); err != nil {
		return store.MirrorSource{}, err
	}
	in = in.clean()
	if err := m.check(in).Err(); err != nil {
		return store.MirrorSource{}, err
	}
	row := store.MirrorSource{Kind: in.Kind, Prefix: in.Prefix, CreatedBy: actor.Name}
	m.fill(in, &row)
	err := m.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		if err := checkMirrorPartner(ctx, tx, in.PartnerID); err != nil {
			return err
		}
		all, err := tx.MirrorSources(ctx)
		if err != nil {
			return fmt.Errorf("count mirrors: %w", err)
		}
		for _, other := range all {
			if other.Prefix == row.Prefix {
				return registry.Invalid(registry.Problems{"prefix": i18n.M("contracts.mirror-refused.prefix-taken", other.Name)})
			}
		}
		if len(all) >= mostMirrors {
			return registry.Conflict("contracts.mirror-refused.most", mostMirrors)
		}
		if err := tx.InsertMirrorSource(ctx, &row); err != nil {
			return mirrorTaken(err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionMirrorCreated, mirrorObject(row), mirrorDetails(row))
	})
	return row, err
}

// Update changes a source; its kind and its prefix stay. Fields: as Create.
func (m *Mirrors) Update(ctx context.Context, actor registry.Actor, id string, edit func(*MirrorInput)) (store.MirrorSource, error) {
	if err := m.allow(ctx, actor); err != nil {
		return store.MirrorSource{}, err
	}
	var row store.MirrorSource
	err := m.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
		if row, err = tx.MirrorSource(ctx, id); err != nil {
			return registry.Found("mirror", err)
		}
		in := InputOfMirror(row)
		edit(&in)
		in.Kind, in.Prefix = row.Kind, row.Prefix
		in = in.clean()
		wrong := m.check(in)
		wrong.AddIf(row.Secret != "" && in.Secret == "" && !in.NoSecret && keyGoesTo(row.URL, row.URLs) != keyGoesTo(in.URL, in.URLs),
			"secret", "contracts.mirror-refused.key-again")
		if err := wrong.Err(); err != nil {
			return err
		}
		if in.PartnerID != row.PartnerID {
			if err := checkMirrorPartner(ctx, tx, in.PartnerID); err != nil {
				return err
			}
		}
		m.fill(in, &row)
		if err := tx.UpdateMirrorSource(ctx, &row); err != nil {
			return mirrorTaken(err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionMirrorChanged, mirrorObject(row), mirrorDetails(row))
	})
	return row, err
}

// keyGoesTo returns the address to which the key of a source is sent, so that nobody who cannot read a key leads it elsewhere.
func keyGoesTo(address string, list []string) string {
	if entries, err := mirror.ParseList(list); err == nil && len(entries) > 0 {
		address = entries[0].URL
	}
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Scheme + "://" + strings.ToLower(u.Host)
}

func (m *Mirrors) fill(in MirrorInput, row *store.MirrorSource) {
	row.Name, row.URL, row.URLs, row.PartnerID = in.Name, in.URL, in.URLs, in.PartnerID
	row.Schedule, row.Contracts, row.Enabled = in.Schedule, in.Contracts, in.Enabled
	switch {
	case in.Secret != "":
		row.Secret = m.cfg.Vault.Seal(mirrorSecretPurpose, []byte(in.Secret))
	case in.NoSecret:
		row.Secret = ""
	}
}

func checkMirrorPartner(ctx context.Context, tx *store.Tx, id string) error {
	if id == "" {
		return nil
	}
	p, err := tx.Partner(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && p.Own {
		return registry.Invalid(registry.Problems{"partnerId": "contracts.mirror-refused.partner"})
	}
	return err
}

func mirrorTaken(err error) error {
	if errors.Is(err, store.ErrConflict) {
		return registry.Invalid(registry.Problems{"name": "contracts.mirror-refused.name-taken"})
	}
	return fmt.Errorf("save mirror: %w", err)
}

// AskRun asks for a run at once; it begins within seconds.
func (m *Mirrors) AskRun(ctx context.Context, actor registry.Actor, id string) error {
	if err := m.allow(ctx, actor); err != nil {
		return err
	}
	return m.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		row, err := tx.MirrorSource(ctx, id)
		if err != nil {
			return registry.Found("mirror", err)
		}
		if !row.Enabled {
			return registry.Conflict("contracts.mirror-refused.switched-off", row.Name)
		}
		if err := tx.AskMirrorRun(ctx, id, actor.Name); err != nil {
			return fmt.Errorf("ask for run: %w", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionMirrorAsked, mirrorObject(row), nil)
	})
}

func mirrorObject(s store.MirrorSource) registry.Object {
	return registry.ObjectOf("mirror", s.ID, s.Name, s.PartnerID)
}

func mirrorDetails(s store.MirrorSource) registry.Details {
	return registry.Details{"url": s.URL, "urls": s.URLs, "kind": s.Kind, "schedule": s.Schedule, "contracts": s.Contracts, "enabled": s.Enabled, "key": s.Secret != ""}
}
