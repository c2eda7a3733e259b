package contracts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"schakel/registry"
	"schakel/registry/contracts/contract"
	"schakel/store"
	"schakel/templates/i18n"
)

// Contracts are the register of OpenAPI and AsyncAPI documents (EDU-06, EDU-21).
// A version that was published has the same bytes for ever (guarantee G8).
type Contracts struct {
	cfg     registry.Config
	profile registry.ProfileSource
	turns   turns
	fetches turns // uploads that wait for other servers
}

// NewContracts makes the service.
func NewContracts(cfg registry.Config, profile registry.ProfileSource) *Contracts {
	return &Contracts{cfg, profile, newTurns(), newTurns()}
}

const maxOwnedContracts = 200

// Create makes a contract without versions. An administrator can, a client of the own organisation, and a partner that will draw
// it up and maintain it (EDU-21), which owns it then. Fields: id, kind, title, description, owner, maintainer, contactName,
// contactEmail, classification, basedOn, agreement, agreedOn, idMeaning, timeMeaning, visibility, partners.
func (c *Contracts) Create(ctx context.Context, actor registry.Actor, in ContractInput) (store.Contract, error) {
	in = in.clean()
	wrong := in.check()
	wrong.Add("id", checkContractID(in.ID))
	wrong.AddIf(in.Kind != string(contract.OpenAPI) && in.Kind != string(contract.AsyncAPI), "kind", "contracts.input.kind")
	for field, text := range checkVisibility(in.Visibility, in.PartnerIDs) {
		wrong.Add(field, text)
	}
	if err := wrong.Err(); err != nil {
		return store.Contract{}, err
	}
	row := store.Contract{ID: in.ID, Kind: in.Kind, Visibility: in.Visibility, CreatedBy: actor.Name}
	err := c.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		if err := in.claim(ctx, tx, actor); err != nil {
			return err
		}
		if err := in.fill(ctx, tx, &row); err != nil {
			return err
		}
		if err := tx.InsertContract(ctx, &row); err != nil {
			return err
		}
		if err := show(ctx, tx, row, namedPartners(in.Visibility, in.PartnerIDs)); err != nil {
			return err
		}
		return registry.Record(ctx, tx, actor, registry.ActionContractCreated, contractObject(row), nil)
	})
	if errors.Is(err, store.ErrConflict) {
		return store.Contract{}, registry.Conflict("contracts.input.id-taken", in.ID)
	}
	return row, err
}

// claim makes a partner that makes a contract its owner; who acts for the own organisation may choose another.
func (in *ContractInput) claim(ctx context.Context, tx *store.Tx, actor registry.Actor) error {
	if ok, err := actsForOwn(ctx, tx, actor); err != nil || ok {
		return err
	}
	owner, err := registry.OwnerFor(ctx, tx, actor, in.OwnerPartnerID)
	if refused, ok := errors.AsType[*registry.Error](err); ok && refused.Code == registry.CodeNotFound {
		return &registry.Error{Code: registry.CodeForbidden, Message: "contracts.input.for-others"}
	}
	if err != nil {
		return err
	}
	if in.Visibility == store.VisibilityNamed {
		return registry.Invalid(registry.Problems{"visibility": "contracts.input.visibility-partner"})
	}
	_, owned, err := tx.Contracts(ctx, store.ContractFilter{OwnerPartnerID: owner.ID, Page: store.Page{Number: 1, Size: 1}})
	if err != nil {
		return fmt.Errorf("count contracts: %w", err)
	}
	if owned >= maxOwnedContracts {
		return registry.Conflict("contracts.input.most-owned", owner.Name, owned)
	}
	in.OwnerPartnerID, in.Owner = owner.ID, ""
	return nil
}

// Update changes the metadata of a contract, but not who sees it: SetVisibility does that. The partner that owns it cannot change
// the owner. A contract goes to another organisation with what was agreed about that alone (EDU-22). Fields: as Create.
func (c *Contracts) Update(ctx context.Context, actor registry.Actor, id string, in ContractInput) (store.Contract, error) {
	return c.Amend(ctx, actor, id, func(now *ContractInput) { *now = in })
}

// Amend is Update for who changes some of the metadata and leaves the rest.
func (c *Contracts) Amend(ctx context.Context, actor registry.Actor, id string, edit func(*ContractInput)) (store.Contract, error) {
	var row store.Contract
	err := c.change(ctx, actor, id, func(tx *store.Tx, found *store.Contract) error {
		before, in := *found, inputOf(*found)
		edit(&in)
		if in = in.clean(); in.check().Err() != nil {
			return in.check().Err()
		}
		if ok, err := actsForOwn(ctx, tx, actor); err != nil {
			return err
		} else if !ok {
			in.Owner, in.OwnerPartnerID = found.Owner, found.OwnerPartnerID
			in.Agreement, in.AgreedOn = found.Agreement, found.AgreedOn
		}
		if in.OwnerPartnerID != before.OwnerPartnerID && in.Owner == before.Owner {
			in.Owner = "" // another owner brings its own name
		}
		if err := in.fill(ctx, tx, found); err != nil {
			return err
		}
		action, what, err := amended(before, *found)
		if err != nil {
			return err
		}
		row = *found
		if err := tx.UpdateContract(ctx, found); err != nil {
			return fmt.Errorf("update contract: %w", err)
		}
		return registry.Record(ctx, tx, actor, action, contractObject(*found), what)
	})
	return row, err
}

// amended returns the verb and the details of a change for the audit trail. A
// contract goes to another organisation with what was agreed about that alone.
func amended(before, after store.Contract) (string, registry.Details, error) {
	moved := before.OwnerPartnerID != after.OwnerPartnerID
	switch {
	case !moved && before.Owner == after.Owner:
		return registry.ActionContractUpdated, registry.Details{}, nil
	case moved && after.Agreement == "":
		return "", nil, registry.Invalid(registry.Problems{"agreement": "contracts.input.agreement-missing"})
	}
	return registry.ActionContractTransferred, registry.Details{"from": before.Owner, "to": after.Owner, "agreement": after.Agreement, "agreedOn": after.AgreedOn}, nil
}

// checkContractID wants kebab-case that is not a word of our own addresses.
func checkContractID(id string) i18n.Message {
	switch {
	case len(id) < 2 || len(id) > 80 || !registry.AllOf(id, "abcdefghijklmnopqrstuvwxyz0123456789-"),
		strings.HasPrefix(id, "-"), strings.HasSuffix(id, "-"), strings.Contains(id, "--"):
		return "contracts.input.id-bad"
	case id == "new":
		return "contracts.input.id-reserved"
	}
	return ""
}

func actsForOwn(ctx context.Context, tx *store.Tx, actor registry.Actor) (bool, error) {
	if actor.Administrator || actor.PartnerID == "" {
		return actor.Administrator, nil
	}
	own, err := tx.OwnPartner(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find own organisation: %w", err)
	}
	return own.ID == actor.PartnerID, nil
}

// change reads a contract the actor maintains and keeps others from changing it meanwhile: only its owner publishes (EDU-21).
func (c *Contracts) change(ctx context.Context, actor registry.Actor, id string, fn func(*store.Tx, *store.Contract) error) error {
	return c.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		row, err := registry.Locked(ctx, tx, "contract", "contract", id, tx.Contract)
		if err != nil {
			return err
		}
		ok, err := actsForOwn(ctx, tx, actor)
		if err != nil {
			return err
		}
		if ok && !actor.Administrator {
			ok = row.OwnerPartnerID == ""
		}
		if !ok {
			if err := registry.AllowChange(ctx, tx, actor, "contract that you maintain", row.OwnerPartnerID); err != nil {
				return err
			}
		}
		return fn(tx, &row)
	})
}

func contractObject(c store.Contract) registry.Object {
	return registry.ObjectOf("contract", c.ID, c.Title, c.OwnerPartnerID)
}

func versionObject(c store.Contract, v store.ContractVersion) registry.Object {
	return registry.ObjectOf("contract", c.ID, c.Title+" "+v.Version, c.OwnerPartnerID)
}

// ContractInput is the metadata of a contract (EDU-06c).
type ContractInput struct {
	ID                        string // kebab-case; it stays what it was
	Kind                      string // openapi or asyncapi; it stays what it was
	Title, Description        string
	Owner                     string // who decides on it; the name of OwnerPartnerID when empty
	OwnerPartnerID            string // empty: the own organisation
	Maintainer                string
	ContactName, ContactEmail string
	Classification            string
	BasedOn                   string   // sector standard (EDU-25)
	Agreement                 string   // who decided on the owner (EDU-22)
	AgreedOn                  string   // the day of that, as 2026-05-01; may be empty
	IDMeaning                 string   // of events: what makes their id unique, and its limits (CE-07)
	TimeMeaning               string   // of events: what their time tells (CE-20)
	Visibility                string   // public, partners, named or internal; see SetVisibility
	PartnerIDs                []string // who sees it, with named
}

func inputOf(c store.Contract) ContractInput {
	return ContractInput{
		ID: c.ID, Kind: c.Kind, Title: c.Title, Description: c.Description, Owner: c.Owner, OwnerPartnerID: c.OwnerPartnerID,
		Maintainer: c.Maintainer, ContactName: c.ContactName, ContactEmail: c.ContactEmail, Classification: c.Classification,
		BasedOn: c.BasedOn, Agreement: c.Agreement, AgreedOn: c.AgreedOn, IDMeaning: c.IDMeaning, TimeMeaning: c.TimeMeaning,
		Visibility: c.Visibility,
	}
}

func (in ContractInput) clean() ContractInput {
	for _, s := range []*string{
		&in.ID, &in.Title, &in.Description, &in.Owner, &in.Maintainer, &in.ContactName, &in.Classification, &in.BasedOn, &in.Agreement,
		&in.AgreedOn, &in.IDMeaning, &in.TimeMeaning,
	} {
		*s = strings.TrimSpace(*s)
	}
	if in.ContactEmail != "" {
		in.ContactEmail = registry.CleanEmail(in.ContactEmail)
	}
	return in
}

func (in ContractInput) check() registry.Problems {
	wrong := registry.Problems{}
	wrong.Add("title", registry.CheckLine(in.Title, 2, 200))
	wrong.Add("description", registry.CheckProse(in.Description, 0, 4000))
	for field, text := range map[string]string{
		"owner": in.Owner, "maintainer": in.Maintainer, "contactName": in.ContactName, "classification": in.Classification,
		"basedOn": in.BasedOn, "agreement": in.Agreement,
	} {
		wrong.Add(field, registry.CheckLine(text, 0, 200))
	}
	wrong.AddIf(in.ContactEmail != "" && !registry.ValidEmail(in.ContactEmail), "contactEmail", "contracts.input.email")
	wrong.Add("idMeaning", registry.CheckProse(in.IDMeaning, 0, 1000))
	wrong.Add("timeMeaning", registry.CheckProse(in.TimeMeaning, 0, 1000))
	if _, err := time.Parse(time.DateOnly, in.AgreedOn); in.AgreedOn != "" && err != nil {
		wrong.Add("agreedOn", "contracts.input.agreed-on")
	}
	return wrong
}

func (in ContractInput) fill(ctx context.Context, tx *store.Tx, c *store.Contract) error {
	owner, err := registry.PartnerOrOwn(ctx, &tx.Queries, in.OwnerPartnerID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("find owner: %w", err)
	}
	if err != nil {
		return registry.Invalid(registry.Problems{"owner": "contracts.input.owner"})
	}
	if in.Owner == "" {
		in.Owner = owner.Name
	}
	if owner.Own {
		in.OwnerPartnerID = ""
	}
	c.Title, c.Description, c.Owner, c.OwnerPartnerID, c.Maintainer = in.Title, in.Description, in.Owner, in.OwnerPartnerID, in.Maintainer
	c.ContactName, c.ContactEmail, c.Classification = in.ContactName, in.ContactEmail, in.Classification
	c.BasedOn, c.Agreement, c.AgreedOn = in.BasedOn, in.Agreement, in.AgreedOn
	c.IDMeaning, c.TimeMeaning = in.IDMeaning, in.TimeMeaning
	return nil
}
