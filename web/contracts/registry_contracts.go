package contracts

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/store"
	"schakel/web/api"
	"schakel/web/site"
)

// contactAnswer is whom to ask about a contract.
type contactAnswer struct {
	Name  string `json:"name,omitempty"`
	Email string `json:"email,omitempty"`
}

// contractAnswer is a contract with its metadata (EDU-06c).
type contractAnswer struct {
	ID             string        `json:"id"`
	Kind           string        `json:"kind"`
	Title          string        `json:"title"`
	Description    string        `json:"description,omitempty"`
	Status         string        `json:"status"`
	LatestVersion  string        `json:"latestVersion,omitempty"`
	Owner          string        `json:"owner"`
	Maintainer     string        `json:"maintainer,omitempty"`
	Contact        contactAnswer `json:"contact"`
	Classification string        `json:"classification,omitempty"`
	BasedOn        string        `json:"basedOn,omitempty"`
	Agreement      string        `json:"agreement,omitempty"`
	AgreedOn       string        `json:"agreedOn,omitempty"`
	IDMeaning      string        `json:"idMeaning,omitempty"`
	TimeMeaning    string        `json:"timeMeaning,omitempty"`
	Visibility     string        `json:"visibility"`
	PartnerIDs     []string      `json:"partnerIds,omitempty"` // for the own organisation only
	CreatedAt      store.Time    `json:"createdAt"`
	UpdatedAt      store.Time    `json:"updatedAt"`
	CopyOf         *originAnswer `json:"copyOf,omitempty"` // of a contract in another register
}

// newContractAnswer makes the answer; a contract without a version that can be
// used has the status draft.
func newContractAnswer(c store.Contract, latest store.ContractVersion) contractAnswer {
	status := latest.Status
	if latest.ID == "" {
		status = store.VersionDraft
	}
	return contractAnswer{
		ID: c.ID, Kind: c.Kind, Title: c.Title, Description: c.Description, Status: status, LatestVersion: latest.Version,
		Owner: c.Owner, Maintainer: c.Maintainer, Contact: contactAnswer{c.ContactName, c.ContactEmail},
		Classification: c.Classification, BasedOn: c.BasedOn, Agreement: c.Agreement, AgreedOn: c.AgreedOn,
		IDMeaning: c.IDMeaning, TimeMeaning: c.TimeMeaning, Visibility: c.Visibility,
		CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
	}
}

// listContracts lists the contracts the asker may see, by title (EDU-06b).
func (m *handlers) listContracts(c echo.Context) error {
	reader, err := m.reader(c)
	if err != nil {
		return err
	}
	return api.AnswerList(m.API, c, "contracts", func(page store.Page) ([]contractAnswer, int, error) {
		kind, err := site.APIChoice(c, "kind", site.ContractKinds())
		if err != nil {
			return nil, 0, err
		}
		status, err := site.APIChoice(c, "status", []string{store.VersionDraft, store.VersionPublished, store.VersionDeprecated, store.VersionWithdrawn})
		if err != nil {
			return nil, 0, err
		}
		rows, total, err := m.Registry.Contracts.List(c.Request().Context(), reader, store.ContractFilter{
			Kind: kind, Owner: c.QueryParam("owner"), Search: c.QueryParam("q"), Status: status, Page: page,
		})
		if err != nil {
			return nil, 0, err
		}
		ids := api.Each(rows, func(row contracts.ContractSummary) string { return row.ID })
		origins, err := m.Registry.Contracts.Origins(c.Request().Context(), ids...)
		return api.Each(rows, func(row contracts.ContractSummary) contractAnswer {
			answer := newContractAnswer(row.Contract, row.Latest)
			answer.CopyOf = newOriginAnswer(origins, row.ID)
			return answer
		}), total, err
	})
}

// contractRequest makes a contract.
type contractRequest struct {
	ID             string        `json:"id"`
	Kind           string        `json:"kind"`
	Title          string        `json:"title"`
	Description    string        `json:"description"`
	Owner          string        `json:"owner"`
	OwnerPartnerID string        `json:"ownerPartnerId"`
	Maintainer     string        `json:"maintainer"`
	Contact        contactAnswer `json:"contact"`
	Classification string        `json:"classification"`
	BasedOn        string        `json:"basedOn"`
	Agreement      string        `json:"agreement"`
	AgreedOn       string        `json:"agreedOn"`
	IDMeaning      string        `json:"idMeaning"`
	TimeMeaning    string        `json:"timeMeaning"`
	Visibility     string        `json:"visibility"`
	PartnerIDs     []string      `json:"partnerIds"`
}

// postContract makes a contract without versions.
func (m *handlers) postContract(c echo.Context, who api.Caller) error {
	in := contractRequest{Visibility: store.VisibilityPartners}
	if err := api.ReadJSON(c, &in); err != nil {
		return err
	}
	made, err := m.Registry.Contracts.Create(c.Request().Context(), who.Actor(), contracts.ContractInput{
		ID: in.ID, Kind: in.Kind, Title: in.Title, Description: in.Description, Owner: in.Owner, OwnerPartnerID: in.OwnerPartnerID,
		Maintainer: in.Maintainer, ContactName: in.Contact.Name, ContactEmail: in.Contact.Email,
		Classification: in.Classification, BasedOn: in.BasedOn, Agreement: in.Agreement, AgreedOn: in.AgreedOn,
		IDMeaning: in.IDMeaning, TimeMeaning: in.TimeMeaning, Visibility: in.Visibility, PartnerIDs: in.PartnerIDs,
	})
	if err != nil {
		return contractProblem(err)
	}
	c.Response().Header().Set("Location", contractPath(made.ID))
	return m.answerContract(c, http.StatusCreated, made)
}

// showContract answers one contract.
func (m *handlers) showContract(c echo.Context) error {
	reader, err := m.reader(c)
	if err != nil {
		return err
	}
	ctx, id := c.Request().Context(), c.Param("contractId")
	found, err := m.Registry.Contracts.Get(ctx, reader, id)
	if err != nil {
		return err
	}
	return m.answerContract(c, http.StatusOK, found)
}

// contractProblem names the members of a request as its sender does.
func contractProblem(err error) error {
	for field, member := range map[string]string{"contactEmail": "contact/email", "contactName": "contact/name", "partners": "partnerIds"} {
		err = api.RenameField(err, field, member)
	}
	return err
}

// answerContract answers a contract as its asker may see it.
func (m *handlers) answerContract(c echo.Context, status int, row store.Contract) error {
	ctx := c.Request().Context()
	latest, err := m.DB.LatestVersions(ctx, []string{row.ID})
	if err != nil {
		return err
	}
	reader, err := m.reader(c)
	if err != nil {
		return err
	}
	answer := newContractAnswer(row, latest[row.ID])
	origins, err := m.Registry.Contracts.Origins(ctx, row.ID)
	if err != nil {
		return err
	}
	answer.CopyOf = newOriginAnswer(origins, row.ID)
	named, err := m.Registry.Contracts.NamedPartners(ctx, reader, row.ID)
	if err != nil {
		return err
	}
	for _, p := range named {
		answer.PartnerIDs = append(answer.PartnerIDs, p.ID)
	}
	return c.JSON(status, answer)
}

const contractsPath = "/registry/v1/contracts"

func contractPath(id string) string { return contractsPath + "/" + url.PathEscape(id) }

func versionPath(id, version string) string {
	return contractPath(id) + "/versions/" + url.PathEscape(version)
}

// reader returns the reader behind a request: the public without a token, or with one
// that has none of the scopes of the register; else the partner of the client. A
// client of the own organisation that writes sees drafts too.
func (m *handlers) reader(c echo.Context) (registry.Reader, error) {
	claims, ok := site.CallerOf(c)
	writes := slices.Contains(claims.Scopes, site.ScopeRegistryWrite)
	if !ok || !writes && !slices.Contains(claims.Scopes, site.ScopeRegistryRead) {
		return registry.Reader{}, nil
	}
	who, err := m.Caller(c)
	if err != nil {
		return registry.Reader{}, err
	}
	reader, err := m.Registry.Contracts.Reader(c.Request().Context(), who.Actor())
	reader.Administrator = err == nil && reader.Internal && writes
	return reader, err
}
