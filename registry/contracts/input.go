package contracts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"schakel/registry"
	"schakel/store"
)

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

// inputOf is the metadata of a contract as it is.
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
	if in.ContactEmail != "" && !registry.ValidEmail(in.ContactEmail) {
		wrong.Add("contactEmail", "Enter an e-mail address, as name@example.nl.")
	}
	wrong.Add("idMeaning", registry.CheckProse(in.IDMeaning, 0, 1000))
	wrong.Add("timeMeaning", registry.CheckProse(in.TimeMeaning, 0, 1000))
	if _, err := time.Parse(time.DateOnly, in.AgreedOn); in.AgreedOn != "" && err != nil {
		wrong.Add("agreedOn", "Write the day as 2026-05-01.")
	}
	return wrong
}

func (in ContractInput) fill(ctx context.Context, tx *store.Tx, c *store.Contract) error {
	owner, err := registry.PartnerOrOwn(ctx, &tx.Queries, in.OwnerPartnerID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("find owner: %w", err)
	}
	if err != nil {
		return registry.Invalid(registry.Problems{"owner": "Choose an owner that is registered."})
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
