package partners

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/delivery/endpointcheck"
	"schakel/delivery/outbox"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/api"
	"schakel/web/site"
)

// CheckAnswer is a check of an endpoint; Report is null until it has one.
type CheckAnswer struct {
	ID         string                     `json:"id"`
	EndpointID string                     `json:"endpointId"`
	Status     string                     `json:"status"` // running, finished or stopped
	Result     *string                    `json:"result"`
	Faults     int64                      `json:"faults"`
	Advice     int64                      `json:"advice"`
	StartedBy  string                     `json:"startedBy"`
	StartedAt  store.Time                 `json:"startedAt"`
	FinishedAt store.Time                 `json:"finishedAt,omitzero"`
	Current    bool                       `json:"current"` // the endpoint has not changed since
	Report     *endpointcheck.ShownReport `json:"report,omitempty"`
}

func (m *handlers) checkAnswer(e store.Endpoint, row store.EndpointCheck) CheckAnswer {
	a := CheckAnswer{
		ID: row.ID, EndpointID: row.EndpointID, Status: "finished", Faults: row.Faults, Advice: row.Advice, StartedBy: row.StartedBy,
		StartedAt: row.StartedAt, FinishedAt: row.FinishedAt, Current: row.ConfigVersion == e.ConfigVersion,
	}
	switch {
	case row.Runs(m.App.Cfg.Now()):
		a.Status = "running"
	case row.Result == store.CheckRuns, row.Result == store.CheckStopped:
		a.Status = "stopped"
	default:
		a.Result = &row.Result
	}
	return a
}

// checkedEndpoint finds the endpoint of the caller that a request names.
func (m *handlers) checkedEndpoint(c echo.Context, who api.Caller) (store.Endpoint, error) {
	if m.Checks == nil {
		return store.Endpoint{}, store.ErrNotFound
	}
	return m.Registry.Endpoints.Get(c.Request().Context(), who.Scope(), c.Param("endpointId"))
}

// postCheck begins a check of an endpoint; its report is fetched later.
func (m *handlers) postCheck(c echo.Context, who api.Caller) error {
	e, err := m.checkedEndpoint(c, who)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	own, err := m.Registry.Partners.Own(ctx)
	if err != nil {
		return err
	}
	made, err := m.Checks.Start(ctx, who.EngineActor(), e.ID, testSource(own), nil)
	if text := outbox.RefusalText(err); text != "" {
		if errors.Is(err, endpointcheck.ErrRuns) {
			return site.NewProblem(http.StatusConflict, "check-runs", text)
		}
		return site.NewProblem(http.StatusConflict, "not-checkable", text)
	}
	if err != nil {
		return err
	}
	c.Response().Header().Set("Location", "/events/v1/endpoints/"+e.ID+"/checks/"+made.ID)
	return c.JSON(http.StatusAccepted, m.checkAnswer(e, made))
}

// listChecks lists the checks of an endpoint that are kept, newest first.
func (m *handlers) listChecks(c echo.Context, who api.Caller) error {
	e, err := m.checkedEndpoint(c, who)
	if err != nil {
		return err
	}
	rows, err := m.DB.EndpointChecks(c.Request().Context(), e.ID)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"checks": api.Each(rows, func(row store.EndpointCheck) CheckAnswer { return m.checkAnswer(e, row) })})
}

// showCheck answers one check with its report, in the language that is asked for.
func (m *handlers) showCheck(c echo.Context, who api.Caller) error {
	e, err := m.checkedEndpoint(c, who)
	if err != nil {
		return err
	}
	row, err := m.DB.EndpointCheck(c.Request().Context(), e.ID, c.Param("checkId"))
	if err != nil {
		return err
	}
	answer := m.checkAnswer(e, row)
	if row.Report != "" {
		report, err := endpointcheck.ReadReport(row)
		if err != nil {
			return err
		}
		shown := endpointcheck.Shown(report, i18n.From(c.Request().Context()))
		answer.Report = &shown
	}
	return c.JSON(http.StatusOK, answer)
}
