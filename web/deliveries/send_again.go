package deliveries

import (
	"cmp"
	"context"
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

// sendAgain asks what to send again: what failed since a moment, or stored events.
func (p *Pages) sendAgain(area site.DeliveryArea) echo.HandlerFunc {
	return func(c echo.Context) error {
		return p.showSendAgain(c, area, readReplayQuery(c.QueryParam), site.FormErrors{})
	}
}

// failedSince leads to the count of what failed since the moment chosen.
func (p *Pages) failedSince(area site.DeliveryArea) echo.HandlerFunc {
	return func(c echo.Context) error {
		wrong := site.FormErrors{}
		from, _ := site.Period(site.Clean(c.QueryParam("moment")), "", wrong)
		switch since := site.Clean(c.QueryParam("since")); since {
		case sinceHour, sinceDay, sinceWeek:
			from = store.At(p.Cfg.Now().Add(-sinceLength(since)))
		case sinceOwn:
			if from.IsZero() && len(wrong) == 0 {
				wrong["from"] = "Fill in since when."
			}
		default:
			wrong["since"] = "Choose since when."
		}
		if text, ok := wrong["from"]; ok {
			delete(wrong, "from")
			wrong["moment"] = text
		}
		if len(wrong) > 0 {
			return p.showSendAgain(c, area, readReplayQuery(func(string) string { return "" }), wrong)
		}
		q := url.Values{"from": {from.Format(site.MomentLayout)}}
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

func (p *Pages) showSendAgain(c echo.Context, area site.DeliveryArea, q replayQuery, wrong site.FormErrors) error {
	ctx, scope := c.Request().Context(), area.Scope(c)
	names := p.DeliveryNamesOf(scope)
	v := view.SendAgainView{Failed: area.Base + "/jobs/failed", Replay: area.Base + "/replays", Limited: !area.Admin}
	var err error
	if v.ReplayFields, err = p.replayFields(ctx, area, scope, q, names); err != nil {
		return err
	}
	endpoints, err := p.EndpointOptions(ctx, scope, names)
	if err != nil {
		return err
	}
	v.FailedFields = failedFields(c, endpoints)
	for _, fields := range [][]ui.Field{v.FailedFields, v.ReplayFields} {
		for i := range fields {
			fields[i].Error = wrong[fields[i].Name]
			if fields[i].Error != "" {
				v.Errors = append(v.Errors, ui.FieldError{Field: cmp.Or(fields[i].ID, fields[i].Name), Text: i18n.M("%s: %s", fields[i].Label, fields[i].Error)})
			}
		}
	}
	if text, ok := wrong[""]; ok {
		v.Errors = append(v.Errors, ui.FieldError{Text: text})
	}
	status, page := http.StatusOK, p.Page(c, "Send again")
	if len(v.Errors) > 0 {
		status, page.Invalid = http.StatusUnprocessableEntity, true
	}
	page.Lead = "What failed, or what was never sent. You see how much it is before anything happens."
	page.Crumbs = append(page.Crumbs, deliveriesCrumb(area), ui.Crumb{Label: "Jobs", Href: area.Base + "/jobs"}, ui.Crumb{Label: "Send again"})
	return p.Render(c, status, view.SendAgain(page, v))
}

func failedFields(c echo.Context, endpoints []ui.Option) []ui.Field {
	return []ui.Field{
		{Name: "since", ID: "since", Label: "Since", Type: "radio", Required: true, Value: cmp.Or(site.Clean(c.QueryParam("since")), sinceDay), Options: []ui.Option{
			{Value: sinceHour, Label: "an hour ago"},
			{Value: sinceDay, Label: "a day ago"},
			{Value: sinceWeek, Label: "a week ago"},
			{Value: sinceOwn, Label: "a moment of your own"},
		}},
		{Name: "moment", Label: "That moment", Hint: "In UTC; only for a moment of your own.", Type: "datetime-local", Value: site.Clean(c.QueryParam("moment"))},
		{Name: "failed-endpoint", Label: "Endpoint", Type: "list", Value: site.Clean(c.QueryParam("failed-endpoint")), Options: endpoints},
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
		partners[0].Label = "Choose a partner, or an endpoint below"
		fields = append(fields, ui.Field{Name: "partner", Label: "Partner", Type: "list", Value: q.partner, Options: partners})
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
		fields = append(fields, ui.Field{Name: "subscription", Label: "Subscription", Value: q.subscription, MaxLength: site.MaxFilterText})
	}
	never := "What a person discarded stays so."
	if area.Admin {
		never = "Also from before a subscription was approved. " + never
	}
	return append(fields,
		ui.Field{Name: "endpoint", Label: "Endpoint", Type: "list", Value: q.endpoint, Options: endpoints},
		ui.Field{Name: "mode", Label: "Which events", Type: "radio", Required: true, Value: q.mode, Options: []ui.Option{
			{Value: "missing", Label: "What was never received", Hint: never},
			{Value: "all", Label: "Everything, once more", Hint: "Also what was received. Ask the receiver first."},
		}},
		ui.Field{Name: "type", Label: "Event type", Type: "list", Value: q.eventType, Options: types},
		ui.Field{Name: "subject", Label: "Subject", Value: q.subject, MaxLength: site.MaxFilterText},
		ui.Field{Name: "from", Label: "Accepted from", Hint: "In UTC.", Type: "datetime-local", Value: q.from},
		ui.Field{Name: "until", Label: "Accepted before", Hint: "In UTC.", Type: "datetime-local", Value: q.until},
		ui.Field{Name: "events", Label: "Event ids", Hint: "One a line, up to 100: ours, or those of the producers.", Type: "lines", Rows: 3, Value: q.events},
	), nil
}

// withOption adds a value that is not in a list of choices, so that the form does not show another than it uses.
func withOption(options []ui.Option, value string) []ui.Option {
	if slices.ContainsFunc(options, func(o ui.Option) bool { return o.Value == value }) {
		return options
	}
	return append(options, ui.Option{Value: value, Label: value})
}
