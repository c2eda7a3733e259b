package deliveries

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/api"
	"schakel/web/site"
)

// issueAnswer describes an issue to who receives at its endpoint, or who decides about everybody's.
type issueAnswer struct {
	IssueID        string             `json:"issueId"`
	PartnerID      string             `json:"partnerId"`
	EndpointID     string             `json:"endpointId"`
	Cause          string             `json:"cause"`
	Title          string             `json:"title"`
	Detail         string             `json:"detail"`
	Status         string             `json:"status"`
	Failures       int64              `json:"failures"`
	FirstAt        store.Time         `json:"firstAt"`
	LastAt         store.Time         `json:"lastAt"`
	DeliveryID     string             `json:"deliveryId"`
	Reopened       int64              `json:"reopened"`
	AcknowledgedBy string             `json:"acknowledgedBy,omitempty"`
	AcknowledgedAt store.Time         `json:"acknowledgedAt,omitzero"`
	ResolvedBy     string             `json:"resolvedBy,omitempty"`
	ResolvedAt     store.Time         `json:"resolvedAt,omitzero"`
	Advice         string             `json:"advice,omitempty"`     // only in the answer for one
	EventTypes     []string           `json:"eventTypes,omitempty"` // as Advice
	History        []issueEventAnswer `json:"history,omitempty"`    // as Advice
}

// issueEventAnswer is a change of an issue.
type issueEventAnswer struct {
	At     store.Time `json:"at"`
	Action string     `json:"action"`
	By     string     `json:"by,omitempty"`
}

func newIssueAnswer(ctx context.Context, administrator bool, i store.Issue) issueAnswer {
	a := issueAnswer{
		IssueID: i.ID, PartnerID: i.PartnerID, EndpointID: i.EndpointID, Cause: i.Cause, Title: registry.IssueCause(i.Cause).In(ctx),
		Detail: issueDetail(ctx, administrator, i), Status: i.Status, Failures: i.Failures, FirstAt: i.FirstAt, LastAt: i.LastAt,
		DeliveryID: i.DeliveryID, Reopened: i.Reopened,
	}
	switch i.Status {
	case store.IssueAcknowledged:
		a.AcknowledgedBy, a.AcknowledgedAt = i.AcknowledgedBy, i.AcknowledgedAt
	case store.IssueResolved:
		a.ResolvedBy, a.ResolvedAt = i.ResolvedBy, i.ResolvedAt
	}
	return a
}

// mountIssues registers the API for issues: for consumers about their own, and for who decides about everybody's.
func (m *handlers) mountIssues() {
	g := m.Scoped(api.EventsBase, site.ScopeEventsConsume, site.ScopeRegistryWrite)
	g.GET("/issues", m.ByCaller(m.listIssues))
	g.GET("/issues/:issueId", m.ByCaller(m.showIssue))
	for verb, action := range map[string]string{
		"acknowledge": registry.ActionIssueAcknowledged, "resolve": registry.ActionIssueResolved, "reopen": registry.ActionIssueReopened,
	} {
		g.POST("/issues/:issueId/"+verb, m.ByCaller(m.postIssue(action)), m.Once)
	}
}

// issueScope is the partner whose issues a caller sees; "" is everybody's (guarantee G7).
func issueScope(c echo.Context, who api.Caller) string {
	if api.Decides(c, who) {
		return ""
	}
	return who.Partner.ID
}

// listIssues lists the issues that the caller sees, those that failed last first.
func (m *handlers) listIssues(c echo.Context, who api.Caller) error {
	return api.AnswerList(m.API, c, "issues", func(page store.Page) ([]issueAnswer, int, error) {
		scope, partner := issueScope(c, who), c.QueryParam("partnerId")
		f := store.IssueFilter{
			PartnerID: partner, EndpointID: c.QueryParam("endpointId"), Cause: c.QueryParam("cause"), Statuses: c.QueryParams()["status"],
			Named: c.QueryParam("id"), Subject: c.QueryParam("subject"), Page: page,
		}
		for _, s := range f.Statuses {
			if !slices.Contains(issueStatuses(), s) {
				return nil, 0, site.FieldProblem("status", "deliveries.api.issue-status")
			}
		}
		var err error
		if f.From, err = api.QueryTime("from", c.QueryParam("from")); err != nil {
			return nil, 0, err
		}
		if f.Until, err = api.QueryTime("until", c.QueryParam("until")); err != nil {
			return nil, 0, err
		}
		if scope != "" && partner != "" && partner != scope {
			return []issueAnswer{}, 0, nil // another's are not there
		}
		if scope != "" {
			f.PartnerID = scope
		}
		ctx := c.Request().Context()
		rows, total, err := m.DB.Issues(ctx, f)
		return api.Each(rows, func(i store.Issue) issueAnswer { return newIssueAnswer(ctx, scope == "", i) }), total, err
	})
}

// showIssue answers one issue with its advice and history; another's is 404.
func (m *handlers) showIssue(c echo.Context, who api.Caller) error {
	ctx, scope := c.Request().Context(), issueScope(c, who)
	i, err := m.DB.Issue(ctx, c.Param("issueId"))
	if err == nil && scope != "" && i.PartnerID != scope {
		err = store.ErrNotFound
	}
	if err != nil {
		return err
	}
	answer := newIssueAnswer(ctx, scope == "", i)
	answer.Advice = registry.IssueAdvice(i.Cause, scope == "").In(ctx)
	if answer.EventTypes, err = m.DB.IssueEventTypes(ctx, i); err != nil {
		return err
	}
	history, err := m.DB.IssueEventsOf(ctx, i.ID, maxShownIssueEvents)
	if err != nil {
		return err
	}
	answer.History = api.Each(history, func(e store.IssueEvent) issueEventAnswer { return issueEventAnswer{e.At, e.Action, e.Actor} })
	return c.JSON(http.StatusOK, answer)
}

// postIssue decides about an issue; one whose state does not allow it is a 409 that names the state.
func (m *handlers) postIssue(action string) func(echo.Context, api.Caller) error {
	return func(c echo.Context, who api.Caller) error {
		ctx := c.Request().Context()
		i, err := decideIssue(ctx, m.DB, who.Actor(), issueScope(c, who), c.Param("issueId"), action)
		if errors.Is(err, store.ErrConflict) {
			return site.NewProblem(http.StatusConflict, "conflict", i18n.M("deliveries.api.issue-state", i18n.Word("deliveries.issue-state", i.Status)))
		}
		if err != nil {
			return err
		}
		return m.showIssue(c, who)
	}
}
