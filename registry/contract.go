package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"schakel/registry/contract"
	"schakel/store"
)

// Contracts are the register of OpenAPI and AsyncAPI documents (EDU-06, EDU-21).
// A version that was published has the same bytes for ever (guarantee G8).
type Contracts struct {
	cfg     Config
	profile *Profiles
	turns   turns
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
	BasedOn                   string // sector standard (EDU-25)
	Agreement                 string // who decided on the owner, and when (EDU-22)
	Visibility                string // public, partners or internal
}

// Create makes a contract without versions. An administrator can, and a client
// of the own organisation. Fields: id, kind, title, description, owner,
// maintainer, contactName, contactEmail, classification, basedOn, agreement,
// visibility.
func (c *Contracts) Create(ctx context.Context, actor Actor, in ContractInput) (store.Contract, error) {
	in = in.clean()
	wrong := in.check()
	wrong.add("id", checkContractID(in.ID))
	if in.Kind != string(contract.OpenAPI) && in.Kind != string(contract.AsyncAPI) {
		wrong.add("kind", "Choose openapi or asyncapi.")
	}
	if err := wrong.err(); err != nil {
		return store.Contract{}, err
	}
	row := store.Contract{ID: in.ID, Kind: in.Kind, CreatedBy: actor.Name}
	err := c.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		if ok, err := actsForOwn(ctx, tx, actor); err != nil || !ok {
			return errors.Join(err, actor.requireAdministrator())
		}
		if err := in.fill(ctx, tx, &row); err != nil {
			return err
		}
		if err := tx.InsertContract(ctx, &row); err != nil {
			return err
		}
		return record(ctx, tx, actor, ActionContractCreated, contractObject(row), nil)
	})
	if errors.Is(err, store.ErrConflict) {
		return store.Contract{}, conflict("There is a contract with id %s already.", in.ID)
	}
	return row, err
}

// Update changes the metadata of a contract. The partner that owns it cannot
// change owner and visibility. Fields: as Create.
func (c *Contracts) Update(ctx context.Context, actor Actor, id string, in ContractInput) (store.Contract, error) {
	in = in.clean()
	if err := in.check().err(); err != nil {
		return store.Contract{}, err
	}
	var row store.Contract
	err := c.change(ctx, actor, id, func(tx *store.Tx, found *store.Contract) error {
		if ok, err := actsForOwn(ctx, tx, actor); err != nil {
			return err
		} else if !ok {
			in.Owner, in.OwnerPartnerID, in.Visibility = found.Owner, found.OwnerPartnerID, found.Visibility
			in.Agreement = found.Agreement
		}
		before := found.Owner
		if err := in.fill(ctx, tx, found); err != nil {
			return err
		}
		row = *found
		if err := tx.UpdateContract(ctx, found); err != nil {
			return fmt.Errorf("update contract: %w", err)
		}
		action, what := ActionContractUpdated, details{}
		if before != found.Owner {
			action, what = ActionContractTransferred, details{"from": before, "to": found.Owner, "agreement": found.Agreement}
		}
		return record(ctx, tx, actor, action, contractObject(*found), what)
	})
	return row, err
}

func (in ContractInput) clean() ContractInput {
	for _, s := range []*string{
		&in.ID, &in.Title, &in.Description, &in.Owner, &in.Maintainer, &in.ContactName, &in.Classification, &in.BasedOn, &in.Agreement,
	} {
		*s = strings.TrimSpace(*s)
	}
	if in.ContactEmail != "" {
		in.ContactEmail = CleanEmail(in.ContactEmail)
	}
	return in
}

func (in ContractInput) check() problems {
	wrong := problems{}
	wrong.add("title", line(in.Title, 2, 200))
	wrong.add("description", prose(in.Description, 0, 4000))
	for field, text := range map[string]string{
		"owner": in.Owner, "maintainer": in.Maintainer, "contactName": in.ContactName, "classification": in.Classification,
		"basedOn": in.BasedOn, "agreement": in.Agreement,
	} {
		wrong.add(field, line(text, 0, 200))
	}
	if in.ContactEmail != "" && !ValidEmail(in.ContactEmail) {
		wrong.add("contactEmail", "Enter an e-mail address, as name@example.nl.")
	}
	if !slices.Contains([]string{store.VisibilityPublic, store.VisibilityPartners, store.VisibilityInternal}, in.Visibility) {
		wrong.add("visibility", "Choose public, partners or internal.")
	}
	return wrong
}

func (in ContractInput) fill(ctx context.Context, tx *store.Tx, c *store.Contract) error {
	owner, err := partnerOrOwn(ctx, &tx.Queries, in.OwnerPartnerID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("find owner: %w", err)
	}
	if err != nil {
		return invalidFields(problems{"owner": "Choose an owner that is registered."})
	}
	if in.Owner == "" {
		in.Owner = owner.Name
	}
	if owner.Own {
		in.OwnerPartnerID = ""
	}
	c.Title, c.Description, c.Owner, c.OwnerPartnerID, c.Maintainer = in.Title, in.Description, in.Owner, in.OwnerPartnerID, in.Maintainer
	c.ContactName, c.ContactEmail, c.Classification = in.ContactName, in.ContactEmail, in.Classification
	c.BasedOn, c.Agreement, c.Visibility = in.BasedOn, in.Agreement, in.Visibility
	return nil
}

// checkContractID wants kebab-case that is not a word of our own addresses.
func checkContractID(id string) string {
	switch {
	case len(id) < 2 || len(id) > 80 || !allOf(id, "abcdefghijklmnopqrstuvwxyz0123456789-"),
		strings.HasPrefix(id, "-"), strings.HasSuffix(id, "-"), strings.Contains(id, "--"):
		return "Use lower-case letters and digits, with single hyphens between words, such as student-events."
	case id == "new":
		return "This word is taken."
	}
	return ""
}

// actsForOwn tells whether an actor acts for the own organisation.
func actsForOwn(ctx context.Context, tx *store.Tx, actor Actor) (bool, error) {
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

// change reads a contract the actor maintains and keeps others from changing it
// meanwhile: only its owner publishes (EDU-21).
func (c *Contracts) change(ctx context.Context, actor Actor, id string, fn func(*store.Tx, *store.Contract) error) error {
	return c.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, "contract", id); err != nil {
			return found("contract", err)
		}
		row, err := tx.Contract(ctx, id)
		if err != nil {
			return found("contract", err)
		}
		ok, err := actsForOwn(ctx, tx, actor)
		if err != nil {
			return err
		}
		if ok && !actor.Administrator {
			ok = row.OwnerPartnerID == ""
		}
		if !ok {
			if err := allowChange(ctx, tx, actor, "contract that you maintain", row.OwnerPartnerID); err != nil {
				return err
			}
		}
		return fn(tx, &row)
	})
}
