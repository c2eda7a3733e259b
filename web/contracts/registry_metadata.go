package contracts

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry/contracts"
	"schakel/templates/i18n"
	"schakel/web/api"
	"schakel/web/site"
)

// contractPatch changes metadata; what is absent stays as it is (RFC 7396).
type contractPatch struct {
	Title          *string        `json:"title"`
	Description    *string        `json:"description"`
	Owner          *string        `json:"owner"`
	OwnerPartnerID *string        `json:"ownerPartnerId"`
	Maintainer     *string        `json:"maintainer"`
	Contact        *contactAnswer `json:"contact"`
	Classification *string        `json:"classification"`
	BasedOn        *string        `json:"basedOn"`
	Agreement      *string        `json:"agreement"`
	AgreedOn       *string        `json:"agreedOn"`
	IDMeaning      *string        `json:"idMeaning"`
	TimeMeaning    *string        `json:"timeMeaning"`
}

func (p contractPatch) apply(in *contracts.ContractInput) {
	for member, into := range map[*string]*string{
		p.Title: &in.Title, p.Description: &in.Description, p.Owner: &in.Owner, p.OwnerPartnerID: &in.OwnerPartnerID,
		p.Maintainer: &in.Maintainer, p.Classification: &in.Classification, p.BasedOn: &in.BasedOn, p.Agreement: &in.Agreement,
		p.AgreedOn: &in.AgreedOn, p.IDMeaning: &in.IDMeaning, p.TimeMeaning: &in.TimeMeaning,
	} {
		if member != nil {
			*into = *member
		}
	}
	if p.Contact != nil {
		in.ContactName, in.ContactEmail = p.Contact.Name, p.Contact.Email
	}
}

// patchContract changes the metadata of a contract.
func (m *handlers) patchContract(c echo.Context, who api.Caller) error {
	var in contractPatch
	if err := api.ReadJSON(c, &in); err != nil {
		return err
	}
	row, err := m.Registry.Contracts.Amend(c.Request().Context(), who.Actor(), c.Param("contractId"), in.apply)
	if err != nil {
		return contractProblem(err)
	}
	return m.answerContract(c, http.StatusOK, row)
}

// visibilityRequest is another choice of who sees a contract.
type visibilityRequest struct {
	Visibility string   `json:"visibility"`
	PartnerIDs []string `json:"partnerIds"`
	Reason     string   `json:"reason"`
	AcceptLoss bool     `json:"acceptLoss"`
}

// putVisibility changes who sees a contract (EDU-06d).
func (m *handlers) putVisibility(c echo.Context, who api.Caller) error {
	var in visibilityRequest
	if err := api.ReadJSON(c, &in); err != nil {
		return err
	}
	row, err := m.Registry.Contracts.SetVisibility(c.Request().Context(), who.Actor(), c.Param("contractId"), contracts.VisibilityChange(in))
	if lost, ok := errors.AsType[*contracts.SightLossError](err); ok {
		return visibilityLossProblem(lost)
	}
	if err != nil {
		return contractProblem(err)
	}
	return m.answerContract(c, http.StatusOK, row)
}

// visibilityLossProblem answers a change that takes sight from those who have it,
// with who they are.
func visibilityLossProblem(lost *contracts.SightLossError) error {
	p := site.NewProblem(http.StatusConflict, "sight-lost", "contracts.api.sight-lost")
	if lost.Everybody {
		p.Errors = append(p.Errors, site.ProblemError{Pointer: "/visibility", Code: "everybody", Detail: "contracts.api.visitors-lose"})
	}
	for _, l := range lost.Partners[:min(len(lost.Partners), maxListedChanges)] {
		detail := i18n.M("contracts.api.partner-loses", l.Name)
		if l.Subscriptions > 0 {
			detail = i18n.M("contracts.api.partner-loses-subscribed", l.Name)
		}
		p.Errors = append(p.Errors, site.ProblemError{Pointer: "/visibility", Code: l.ID, Detail: detail})
	}
	return p
}
