package contracts

import (
	"context"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// newContract shows the form for a contract.
func (p *pages) newContract(c echo.Context) error {
	reader, err := p.Reader(c)
	if err != nil {
		return err
	}
	return p.showContractForm(c, http.StatusOK, contractForm{reader, ""}, contracts.ContractInput{Kind: "asyncapi", Visibility: store.VisibilityPartners}, nil)
}

// createContract makes a contract without versions.
func (p *pages) createContract(c echo.Context) error {
	reader, err := p.Reader(c)
	if err != nil {
		return err
	}
	return site.SubmitAbout(c, contractForm{reader, ""}, contractInput, func(in contracts.ContractInput) error {
		made, err := p.Registry.Contracts.Create(c.Request().Context(), site.Actor(c), in)
		return p.Saved(c, err, maintainHref(reader, made.ID)+"/upload", "contracts.form.made")
	}, p.showContractForm)
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
	return p.showContractForm(c, http.StatusOK, contractForm{reader, row.ID}, contracts.ContractInput{
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
	read := func(form site.Form) contracts.ContractInput {
		in := contractInput(form)
		in.Kind = row.Kind
		return in
	}
	return site.SubmitAbout(c, contractForm{reader, row.ID}, read, func(in contracts.ContractInput) error {
		_, err := p.Registry.Contracts.Update(c.Request().Context(), site.Actor(c), row.ID, in)
		return p.Saved(c, err, site.ContractHref(row.ID), "contracts.form.changed")
	}, p.showContractForm)
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

// contractForm holds who fills the form in, and for which contract; empty for a new one.
type contractForm struct {
	reader registry.Reader
	id     string
}

// showContractForm shows the form.
func (p *pages) showContractForm(c echo.Context, status int, about contractForm, in contracts.ContractInput, wrong site.FormErrors) error {
	ctx, reader, id := c.Request().Context(), about.reader, about.id
	v := view.ContractFormView{
		Action: maintainBase(reader), Button: i18n.T(ctx, "contracts.form.make"), New: id == "", ID: in.ID, Kind: in.Kind, Title: in.Title,
		Description: in.Description, Owner: in.Owner, OwnerPartner: in.OwnerPartnerID, Maintainer: in.Maintainer,
		ContactName: in.ContactName, ContactEmail: in.ContactEmail, Classification: in.Classification, BasedOn: in.BasedOn,
		Agreement: in.Agreement, AgreedOn: in.AgreedOn, IDMeaning: in.IDMeaning, TimeMeaning: in.TimeMeaning,
		Visibility: in.Visibility, Wrong: wrong,
	}
	if reader.Administrator {
		var err error
		if v.Partners, err = p.ownerOptions(ctx, site.Actor(c)); err != nil {
			return err
		}
		v.Named = namedOptions(v.Partners, in.PartnerIDs)
	}
	title, crumbs := i18n.T(ctx, "contracts.form.new"), []ui.Crumb{{Label: i18n.T(ctx, "contracts.word.contracts"), Href: "/contracts"}}
	if id != "" {
		v.Action, v.Button, title = maintainHref(reader, id), i18n.T(ctx, "contracts.form.save"), i18n.T(ctx, "contracts.form.edit", id)
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
	options := []ui.Option{{Label: i18n.T(ctx, "contracts.form.own-organisation", own.Name)}}
	for _, row := range rows {
		options = append(options, ui.Option{Value: row.ID, Label: row.Name})
	}
	return options, nil
}

// maintained is the contract of the address for who maintains it: an
// administrator, or the partner that owns it. For others it is not there.
func (p *pages) maintained(c echo.Context) (registry.Reader, store.Contract, error) {
	reader, row, err := p.readable(c)
	if err == nil && !reader.Maintains(row) {
		err = store.ErrNotFound
	}
	return reader, row, err
}

// readable is the contract of the address for who may read it.
func (p *pages) readable(c echo.Context) (registry.Reader, store.Contract, error) {
	reader, err := p.Reader(c)
	if err != nil {
		return reader, store.Contract{}, err
	}
	row, err := p.Registry.Contracts.Get(c.Request().Context(), reader, c.Param("id"))
	return reader, row, err
}

// maintainBase returns the address of the pages on which a reader maintains contracts:
// administrators and partners each have addresses of their own.
func maintainBase(reader registry.Reader) string {
	if reader.Administrator {
		return "/admin/contracts"
	}
	return "/partner/contracts"
}

// maintainHref returns the address of the page on which a reader maintains a contract.
func maintainHref(reader registry.Reader, id string) string {
	return maintainBase(reader) + "/" + url.PathEscape(id)
}

// maintainVersionHref returns the address of the page on which a reader maintains a version of a contract.
func maintainVersionHref(reader registry.Reader, id, version string) string {
	return maintainHref(reader, id) + "/versions/" + url.PathEscape(version)
}
