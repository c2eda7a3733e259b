package contracts

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/ui"
	"schakel/web/site"
)

// newContract shows the form for a contract.
func (p *pages) newContract(c echo.Context) error {
	in := contracts.ContractInput{Kind: "asyncapi", Visibility: store.VisibilityPartners}
	reader, err := p.Reader(c)
	if err != nil {
		return err
	}
	return p.showContractForm(c, reader, http.StatusOK, "", in, nil)
}

// createContract makes a contract without versions.
func (p *pages) createContract(c echo.Context) error {
	reader, err := p.Reader(c)
	if err != nil {
		return err
	}
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	in := contractInput(form)
	contract, err := p.Registry.Contracts.Create(c.Request().Context(), site.Actor(c), in)
	if status, wrong := site.FormRefusal(err); wrong != nil {
		return p.showContractForm(c, reader, status, "", in, wrong)
	}
	if err != nil {
		return err
	}
	return p.Done(c, maintainHref(reader, contract.ID)+"/upload", "The contract is there. Upload its first version.")
}

// editContract shows the form with the metadata of a contract.
func (p *pages) editContract(c echo.Context) error {
	reader, row, err := p.maintained(c)
	if err != nil {
		return err
	}
	owner, err := p.ownerName(c.Request().Context(), row)
	if err != nil {
		return err
	}
	return p.showContractForm(c, reader, http.StatusOK, row.ID, contracts.ContractInput{
		ID: row.ID, Kind: row.Kind, Title: row.Title, Description: row.Description, Owner: owner, OwnerPartnerID: row.OwnerPartnerID,
		Maintainer: row.Maintainer, ContactName: row.ContactName, ContactEmail: row.ContactEmail, Classification: row.Classification,
		BasedOn: row.BasedOn, Agreement: row.Agreement, AgreedOn: row.AgreedOn, IDMeaning: row.IDMeaning, TimeMeaning: row.TimeMeaning,
	}, nil)
}

// ownerName is the name of the owner when it is not that of the organisation
// that owns the contract: another owner that is chosen brings its own name.
func (p *pages) ownerName(ctx context.Context, row store.Contract) (string, error) {
	owner, err := p.Registry.Partners.Own(ctx)
	if row.OwnerPartnerID != "" {
		owner, err = p.Registry.Partners.Get(ctx, registry.Scope{All: true}, row.OwnerPartnerID)
	}
	if err != nil || owner.Name == row.Owner {
		return "", err
	}
	return row.Owner, nil
}

// updateContract changes the metadata of a contract.
func (p *pages) updateContract(c echo.Context) error {
	reader, row, err := p.maintained(c)
	if err != nil {
		return err
	}
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	in, id := contractInput(form), row.ID
	in.Kind = row.Kind
	_, err = p.Registry.Contracts.Update(c.Request().Context(), site.Actor(c), id, in)
	if status, wrong := site.FormRefusal(err); wrong != nil {
		return p.showContractForm(c, reader, status, id, in, wrong)
	}
	if err != nil {
		return err
	}
	return p.Done(c, site.ContractHref(id), "The contract is changed.")
}

func contractInput(form site.Form) contracts.ContractInput {
	return contracts.ContractInput{
		ID: form.Get("id"), Kind: form.Get("kind"), Title: form.Get("title"), Description: form.Get("description"),
		Owner: form.Get("owner"), OwnerPartnerID: form.Get("ownerPartner"), Maintainer: form.Get("maintainer"),
		ContactName: form.Get("contactName"), ContactEmail: form.Get("contactEmail"), Classification: form.Get("classification"),
		BasedOn: form.Get("basedOn"), Agreement: form.Get("agreement"), AgreedOn: form.Get("agreedOn"),
		IDMeaning: form.Get("idMeaning"), TimeMeaning: form.Get("timeMeaning"), Visibility: form.Get("visibility"), PartnerIDs: form.List("partners"),
	}
}

// showContractForm shows the form; id is empty for a new contract.
func (p *pages) showContractForm(c echo.Context, reader registry.Reader, status int, id string, in contracts.ContractInput, wrong site.FormErrors) error {
	v := view.ContractFormView{
		Action: maintainBase(reader), Button: "Make the contract", New: id == "", ID: in.ID, Kind: in.Kind, Title: in.Title,
		Description: in.Description, Owner: in.Owner, OwnerPartner: in.OwnerPartnerID, Maintainer: in.Maintainer,
		ContactName: in.ContactName, ContactEmail: in.ContactEmail, Classification: in.Classification, BasedOn: in.BasedOn,
		Agreement: in.Agreement, AgreedOn: in.AgreedOn, IDMeaning: in.IDMeaning, TimeMeaning: in.TimeMeaning,
		Visibility: in.Visibility, Wrong: wrong,
	}
	if reader.Administrator {
		var err error
		if v.Partners, err = p.ownerOptions(c.Request().Context(), site.Actor(c)); err != nil {
			return err
		}
		v.Named = namedOptions(v.Partners, in.PartnerIDs)
	}
	title, crumbs := "New contract", []ui.Crumb{{Label: "Contracts", Href: "/contracts"}}
	if id != "" {
		v.Action, v.Button, title = maintainHref(reader, id), "Save", "Edit "+id
		crumbs = append(crumbs, ui.Crumb{Label: id, Href: site.ContractHref(id)})
	}
	page := p.Frame(c, title, crumbs...)
	page.Invalid = wrong != nil
	return p.Render(c, status, view.ContractForm(page, v))
}

// ownerOptions lists the possible owners of a contract: the own organisation, and approved partners.
func (p *pages) ownerOptions(ctx context.Context, who registry.Actor) ([]ui.Option, error) {
	own, err := p.Registry.Partners.Own(ctx)
	if err != nil {
		return nil, err
	}
	rows, _, err := p.Registry.Partners.List(ctx, who, store.PartnerFilter{Status: store.PartnerApproved})
	if err != nil {
		return nil, err
	}
	options := []ui.Option{{Label: own.Name + " (own organisation)"}}
	for _, row := range rows {
		options = append(options, ui.Option{Value: row.ID, Label: row.Name})
	}
	return options, nil
}
