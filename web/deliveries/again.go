package deliveries

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/store"
	view "schakel/templates/deliveries"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// Ready-made moments of "everything that failed since".
const (
	sinceHour = "hour"
	sinceDay  = "day"
	sinceWeek = "week"
	sinceOwn  = "own"
)

// askAgain asks what to resend or replay: what failed since a moment, or stored events.
func (p *Pages) askAgain(area site.DeliveryArea) echo.HandlerFunc {
	return func(c echo.Context) error {
		return p.showAgain(c, area, readReplayQuery(c.QueryParam), site.FormErrors{})
	}
}

// failedSince leads to the count of what failed since the moment chosen.
func (p *Pages) failedSince(area site.DeliveryArea) echo.HandlerFunc {
	return func(c echo.Context) error {
		wrong := site.FormErrors{}
		from, _ := site.Period(site.Clean(c.QueryParam("zone")), site.Clean(c.QueryParam("moment")), "", wrong)
		switch since := site.Clean(c.QueryParam("since")); since {
		case sinceHour, sinceDay, sinceWeek:
			from = store.At(p.Cfg.Now().Add(-sinceLength(since)))
		case sinceOwn:
			if from.IsZero() && len(wrong) == 0 {
				wrong["from"] = "deliveries.again.fill-since"
			}
		default:
			wrong["since"] = "deliveries.again.choose-since"
		}
		if text, ok := wrong["from"]; ok {
			delete(wrong, "from")
			wrong["moment"] = text
		}
		if len(wrong) > 0 {
			return p.showAgain(c, area, readReplayQuery(func(string) string { return "" }), wrong)
		}
		q := url.Values{"from": {from.Format(site.MomentLayout)}}
		if partner := site.Clean(c.QueryParam("failed-partner")); partner != "" && area.Admin {
			q.Set("partner", partner)
		}
		if endpoint := site.Clean(c.QueryParam("failed-endpoint")); endpoint != "" {
			q.Set("endpoint", endpoint)
		}
		return c.Redirect(http.StatusSeeOther, area.Base+"/deliveries/all?"+q.Encode())
	}
}

func sinceLength(since string) time.Duration {
	switch since {
	case sinceHour:
		return time.Hour
	case sinceDay:
		return 24 * time.Hour
	}
	return 7 * 24 * time.Hour
}

func (p *Pages) showAgain(c echo.Context, area site.DeliveryArea, q replayQuery, wrong site.FormErrors) error {
	ctx, scope := c.Request().Context(), area.Scope(c)
	names := p.DeliveryNamesOf(scope)
	whose, err := p.whose(ctx, area, names, &q)
	if err != nil {
		return err
	}
	v := view.AgainView{Failed: area.Base + "/jobs/failed", Replay: area.Base + "/replays", Limited: !area.Admin}
	if v.ReplayFields, err = p.replayFields(ctx, area, scope, q, names); err != nil {
		return err
	}
	endpoints, err := p.EndpointOptions(ctx, scope, names)
	if err != nil {
		return err
	}
	v.FailedFields = failedFields(c, withOption(endpoints, q.endpoint), q.endpoint)
	if area.Admin {
		partners, err := p.PartnerOptions(ctx, names)
		if err != nil {
			return err
		}
		of := ui.Field{Name: "failed-partner", Label: i18n.T(ctx, "deliveries.partner"), Type: "list", Value: cmp.Or(site.Clean(c.QueryParam("failed-partner")), q.partner), Options: partners}
		v.FailedFields = slices.Insert(v.FailedFields, len(v.FailedFields)-1, of)
	}
	for _, fields := range [][]ui.Field{v.FailedFields, v.ReplayFields} {
		for i := range fields {
			fields[i].Error = wrong[fields[i].Name]
			fields[i].ID = cmp.Or(fields[i].ID, fields[i].Name)
		}
		v.Errors = append(v.Errors, site.FieldErrors(fields)...)
	}
	if text, ok := wrong[""]; ok {
		v.Errors = append(v.Errors, ui.FieldError{Text: text})
	}
	title := i18n.T(ctx, "deliveries.again.title")
	if whose != "" {
		title = i18n.T(ctx, "deliveries.again.title-of", whose)
	}
	status, page := http.StatusOK, p.Page(c, title)
	if len(v.Errors) > 0 {
		status, page.Invalid = http.StatusUnprocessableEntity, true
	}
	page.Lead = i18n.T(ctx, "deliveries.again.lead")
	page.Crumbs = append(page.Crumbs, deliveriesCrumb(ctx, area),
		ui.Crumb{Label: i18n.T(ctx, "deliveries.jobs.title"), Href: area.Base + "/jobs"}, ui.Crumb{Label: i18n.T(ctx, "deliveries.again.title")})
	return p.Render(c, status, view.Again(page, v))
}

// whose names the endpoint or partner that the page was opened for, to administrators both; "" for neither. It adds the partner of the
// endpoint to what is asked.
func (p *Pages) whose(ctx context.Context, area site.DeliveryArea, names *site.DeliveryNames, q *replayQuery) (string, error) {
	if q.endpoint != "" && area.Admin {
		ep, err := p.DB.Endpoint(ctx, q.endpoint)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return "", err
		}
		q.partner = cmp.Or(q.partner, ep.PartnerID)
	}
	endpoint, err := names.Endpoint(ctx, q.endpoint)
	if err != nil || !area.Admin {
		return endpoint, err
	}
	partner, err := names.Partner(ctx, q.partner)
	if err != nil || endpoint == "" || partner == "" {
		return cmp.Or(partner, endpoint), err
	}
	return i18n.T(ctx, "deliveries.again.endpoint-of", endpoint, partner), nil
}

func failedFields(c echo.Context, endpoints []ui.Option, endpoint string) []ui.Field {
	ctx := c.Request().Context()
	moment := site.MomentField(ctx, "moment", i18n.T(ctx, "deliveries.again.moment"), site.Clean(c.QueryParam("zone")), site.Clean(c.QueryParam("moment")))
	moment.Hint = i18n.T(ctx, "deliveries.again.moment-hint")
	return []ui.Field{
		{Name: "since", ID: "since", Label: i18n.T(ctx, "deliveries.again.since"), Type: "radio", Required: true, Value: cmp.Or(site.Clean(c.QueryParam("since")), sinceDay), Options: []ui.Option{
			{Value: sinceHour, Label: i18n.T(ctx, "deliveries.again.since-hour")},
			{Value: sinceDay, Label: i18n.T(ctx, "deliveries.again.since-day")},
			{Value: sinceWeek, Label: i18n.T(ctx, "deliveries.again.since-week")},
			{Value: sinceOwn, Label: i18n.T(ctx, "deliveries.again.since-own")},
		}},
		moment,
		{Name: "failed-endpoint", Label: i18n.T(ctx, "deliveries.endpoint"), Type: "list", Value: cmp.Or(site.Clean(c.QueryParam("failed-endpoint")), endpoint), Options: endpoints},
	}
}

// replayFields are the questions about a replay.
func (p *Pages) replayFields(ctx context.Context, area site.DeliveryArea, scope string, q replayQuery, names *site.DeliveryNames) ([]ui.Field, error) {
	var fields []ui.Field
	if area.Admin {
		partners, err := p.PartnerOptions(ctx, names)
		if err != nil {
			return nil, err
		}
		partners[0].Label = i18n.T(ctx, "deliveries.again.choose-partner-or-endpoint")
		fields = append(fields, ui.Field{Name: "partner", Label: i18n.T(ctx, "deliveries.partner"), Type: "list", Value: q.partner, Options: partners})
	}
	endpoints, err := p.EndpointOptions(ctx, scope, names)
	if err != nil {
		return nil, err
	}
	types, err := p.TypeOptions(ctx, scope)
	if err != nil {
		return nil, err
	}
	endpoints, types = withOption(endpoints, q.endpoint), withOption(types, q.eventType)
	if q.subscription != "" {
		fields = append(fields, ui.Field{Name: "subscription", Label: i18n.T(ctx, "deliveries.subscription"), Value: q.subscription, MaxLength: site.MaxFilterText})
	}
	never := i18n.T(ctx, "deliveries.again.missing-hint")
	if area.Admin {
		never = i18n.T(ctx, "deliveries.again.missing-hint-all")
	}
	return append(fields,
		ui.Field{Name: "endpoint", Label: i18n.T(ctx, "deliveries.endpoint"), Type: "list", Value: q.endpoint, Options: endpoints},
		ui.Field{Name: "mode", Label: i18n.T(ctx, "deliveries.again.which"), Type: "radio", Required: true, Value: q.mode, Options: []ui.Option{
			{Value: "missing", Label: i18n.T(ctx, "deliveries.again.missing"), Hint: never},
			{Value: "all", Label: i18n.T(ctx, "deliveries.again.all"), Hint: i18n.T(ctx, "deliveries.again.all-hint")},
		}},
		ui.Field{Name: "type", Label: i18n.T(ctx, "deliveries.event-type"), Type: "list", Value: q.eventType, Options: types},
		ui.Field{Name: "subject", Label: i18n.T(ctx, "deliveries.subject"), Value: q.subject, MaxLength: site.MaxFilterText},
		site.MomentField(ctx, "from", i18n.T(ctx, "deliveries.accepted-from"), q.zone, q.from),
		site.MomentField(ctx, "until", i18n.T(ctx, "deliveries.accepted-before"), q.zone, q.until),
		ui.Field{Name: "events", Label: i18n.T(ctx, "deliveries.event-ids"), Hint: i18n.T(ctx, "deliveries.again.ids-hint"), Type: "lines", Rows: 3, Value: q.events},
	), nil
}

// withOption adds a value that is not in a list of choices, so that the form does not show another than it uses.
func withOption(options []ui.Option, value string) []ui.Option {
	if slices.ContainsFunc(options, func(o ui.Option) bool { return o.Value == value }) {
		return options
	}
	return append(options, ui.Option{Value: value, Label: value})
}
