package amqp

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"
	"schakel/store"
	view "schakel/templates/amqp"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// messageList lists messages that were written or read.
func (a AMQPArea) messageList(c echo.Context) error {
	saved, redirect, err := a.SavedFilters(c, a.messages())
	if err != nil || redirect != "" {
		return site.Elsewhere(c, redirect, err)
	}
	return a.showMessages(c, saved, "", "")
}

// showMessages shows the list, with the problem of a reason that was given to discard all of it.
func (a AMQPArea) showMessages(c echo.Context, saved ui.SavedFiltersView, reason string, reasonWrong i18n.Message) (err error) {
	here := url.URL{Path: a.messages(), RawQuery: c.Request().URL.RawQuery}
	ctx, paging := c.Request().Context(), site.PagePaging(c)
	f, wrong := a.messageFilter(c)
	f.Page = paging
	kind, state := site.PageChoice(c, "kind", amqpKinds()), site.PageChoice(c, "state", amqpChoices())
	zone, from, until, her := site.Clean(c.QueryParam("zone")), site.Clean(c.QueryParam("from")), site.Clean(c.QueryParam("until")), site.Clean(c.QueryParam("herId"))
	v := view.AMQPMessagesView{
		Path: a.messages(), Saved: saved, Self: here.RequestURI(), Export: site.ExportHref(c, a.messages()), Now: a.Cfg.Now(), Filtered: kind+state+f.Direction+f.PartyID+f.ID+from+until+her != "",
	}
	if v.Fields, err = a.messageFields(c, f, kind, state); err != nil {
		return err
	}
	v.Fields = append(v.Fields, ui.Field{Name: "herId", Label: i18n.T(ctx, "amqp.messages.her-id"), Value: her, MaxLength: 9})
	v.Fields = site.WithErrors(append(v.Fields,
		site.MomentField(ctx, "from", i18n.T(ctx, "amqp.messages.from-moment"), zone, from),
		site.MomentField(ctx, "until", i18n.T(ctx, "amqp.messages.until-moment"), zone, until)), wrong)
	page := a.pageFrame(c, i18n.T(ctx, "amqp.messages.title"))
	page.Lead = i18n.T(ctx, "amqp.messages.lead")
	if len(wrong) > 0 {
		page.Invalid, v.Invalid, v.Errors = true, true, site.FieldErrors(v.Fields)
		return a.Render(c, http.StatusUnprocessableEntity, view.AMQPMessagesPage(page, v))
	}
	rows, total, err := a.DB.AMQPMessages(ctx, f)
	if err != nil {
		return err
	}
	v.Total, v.Pager = total, site.LongPager(c, paging, total)
	v.Pager.URL = func(page int) string { return site.WithQuery(&here, "page", strconv.Itoa(page)) }
	for _, m := range rows {
		v.Rows = append(v.Rows, a.messageRow(c, m))
	}
	if err := a.offerBulk(c, f, &v); err != nil {
		return err
	}
	status := http.StatusOK
	if reasonWrong != "" {
		status, page.Invalid, v.Errors = http.StatusUnprocessableEntity, true, []ui.FieldError{{Text: reasonWrong}}
		if v.Drop != nil { // else nothing of the list can be discarded any more
			v.Drop.ReasonValue, v.Drop.ReasonError, v.Errors[0].Field = reason, reasonWrong, v.Drop.ID+"-reason"
		}
	}
	return a.Render(c, status, view.AMQPMessagesPage(page, v))
}

// messageFilter reads what a list of messages is limited to.
func (a AMQPArea) messageFilter(c echo.Context) (store.AMQPFilter, site.FormErrors) {
	f := store.AMQPFilter{
		PartnerID: a.Scope(c), Direction: site.PageChoice(c, "direction", []string{store.AMQPIn, store.AMQPOut}), PartyID: c.QueryParam("party"),
		ID: c.QueryParam("id"),
	}
	if kind := site.PageChoice(c, "kind", amqpKinds()); kind != "" {
		f.Kinds = []string{kind}
	}
	f = ofState(f, site.PageChoice(c, "state", amqpChoices()))
	wrong, ok := site.FormErrors{}, false
	if f, ok = ofHerID(f, site.Clean(c.QueryParam("herId"))); !ok {
		wrong["herId"] = "amqp.messages.her-id-bad"
	}
	f.Since, f.Until = site.Period(site.Clean(c.QueryParam("zone")), site.Clean(c.QueryParam("from")), site.Clean(c.QueryParam("until")), wrong)
	return f, wrong
}

func (a AMQPArea) messageFields(c echo.Context, f store.AMQPFilter, kind, state string) ([]ui.Field, error) {
	ctx := c.Request().Context()
	parties, err := a.Registry.AMQP.Parties(ctx, a.bounds(c), "")
	if err != nil {
		return nil, err
	}
	all := ui.Option{Label: i18n.T(ctx, "amqp.messages.choice-all")}
	options := []ui.Option{all}
	for _, p := range parties {
		if !p.Own {
			options = append(options, ui.Option{Value: p.ID, Label: p.Name})
		}
	}
	return []ui.Field{
		site.ChoiceField("state", i18n.T(ctx, "amqp.label.state"), state, append([]ui.Option{all}, namedCodes(ctx, "amqp.state", amqpChoices())...)),
		site.ChoiceField("kind", i18n.T(ctx, "amqp.label.kind"), kind, append([]ui.Option{all}, namedCodes(ctx, "amqp.kind", amqpKinds())...)),
		site.ChoiceField("direction", i18n.T(ctx, "amqp.messages.direction"), f.Direction, []ui.Option{
			{Label: i18n.T(ctx, "amqp.messages.direction-both")},
			{Value: store.AMQPOut, Label: i18n.T(ctx, "amqp.messages.direction-out")},
			{Value: store.AMQPIn, Label: i18n.T(ctx, "amqp.messages.direction-in")},
		}),
		site.ChoiceField("party", i18n.T(ctx, "amqp.label.party"), f.PartyID, options),
		{Name: "id", Label: i18n.T(ctx, "amqp.messages.id"), Value: f.ID, MaxLength: 300},
	}, nil
}

func (a AMQPArea) messageRow(c echo.Context, m store.AMQPMessage) view.AMQPMessageRow {
	ctx := c.Request().Context()
	return view.AMQPMessageRow{
		Href: a.message(m.ID), Kind: i18n.Of(ctx, "amqp.kind", m.Kind), Out: m.Direction == store.AMQPOut, Party: a.other(c, m), MessageID: m.MessageID,
		Subject: m.Subject, State: a.stateNow(ctx, m), Reason: site.AMQPReasonOf(m.Reason).Label.In(ctx), At: m.CreatedAt.Time, Changed: m.UpdatedAt.Time,
	}
}

// other names whom a message is to or from: its party, or its HER-id when that has none here.
func (a AMQPArea) other(c echo.Context, m store.AMQPMessage) string {
	ctx := c.Request().Context()
	if name := a.partyName(ctx, c, m.PartyID).Name; name != "" {
		return name
	}
	if m.Her > 0 {
		return i18n.T(ctx, "amqp.her-id-named", site.NumberText(m.Her))
	}
	return i18n.T(ctx, "amqp.unknown")
}

// namedCodes makes choices of stored words, which have texts in a family of keys.
func namedCodes(ctx context.Context, family string, codes []string) []ui.Option {
	options := make([]ui.Option, len(codes))
	for i, code := range codes {
		options[i] = ui.Option{Value: code, Label: i18n.Of(ctx, family, code)}
	}
	return options
}

// Choices of the state of a message that are no state of their own.
const (
	amqpAttention    = "attention"
	amqpOverdue      = "overdue"
	amqpRejectedByUs = "rejected-by-us"
)

// herNone selects messages that name no HER-id.
const herNone = "none"

// ofHerID limits a list of messages to those of a HER-id; ok is false for what is none.
func ofHerID(f store.AMQPFilter, text string) (limited store.AMQPFilter, ok bool) {
	switch text {
	case "":
		return f, true
	case herNone:
		f.HerID = store.HerNone
		return f, true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	f.HerID = n
	return f, err == nil && n > 0
}

// amqpChoices lists the filters of a list of messages.
func amqpChoices() []string { return append([]string{amqpAttention, amqpOverdue}, amqpStates()...) }

// ofState limits a list of messages to a choice. A rejection goes one way: theirs of what we sent, ours of what came in.
func ofState(f store.AMQPFilter, choice string) store.AMQPFilter {
	switch choice {
	case "":
	case amqpAttention:
		f.Attention = true
	case amqpOverdue:
		f.Overdue = true
	case store.AMQPRejected:
		f.Direction, f.Statuses = store.AMQPOut, []string{store.AMQPRejected}
	case amqpRejectedByUs:
		f.Direction, f.Statuses = store.AMQPIn, []string{store.AMQPRejected}
	default:
		f.Statuses = []string{choice}
	}
	return f
}
