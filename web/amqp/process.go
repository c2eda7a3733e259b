package amqp

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"
	registryamqp "schakel/registry/amqp"
	"schakel/store"
	view "schakel/templates/amqp"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// newProcess asks what is agreed with a party. What a document said of it comes in the address.
func (a AMQPArea) newProcess(c echo.Context) error {
	ask := func(name string) string { return site.Clean(c.QueryParam(name)) }
	return a.showProcessForm(c, http.StatusOK, store.AMQPProcess{}, registryamqp.ProcessInput{
		Mode: store.AMQPAsync, Name: ask("name"), Subject: ask("subject"), Service: ask("service"), ToRole: ask("toRole"), CPAID: ask("cpaId"),
	}, nil)
}

// createProcess agrees a process.
func (a AMQPArea) createProcess(c echo.Context) error {
	return site.SubmitAbout(c, store.AMQPProcess{}, readProcess, func(in registryamqp.ProcessInput) error {
		row, err := a.Registry.AMQP.AddProcess(c.Request().Context(), site.Actor(c), c.Param("id"), in)
		return a.saved(c, err, a.party(c.Param("id")), i18n.M("amqp.process.added", row.Name))
	}, a.showProcessForm)
}

// editProcess asks what changes of a process.
func (a AMQPArea) editProcess(c echo.Context) error {
	row, err := a.Registry.AMQP.Process(c.Request().Context(), site.Actor(c), c.Param("id"), c.Param("process"))
	if err != nil {
		return err
	}
	return a.showProcessForm(c, http.StatusOK, row, registryamqp.InputOfProcess(row), nil)
}

// changeProcess changes a process.
func (a AMQPArea) changeProcess(c echo.Context) error {
	row, err := a.Registry.AMQP.Process(c.Request().Context(), site.Actor(c), c.Param("id"), c.Param("process"))
	if err != nil {
		return err
	}
	return site.SubmitAbout(c, row, readProcess, func(in registryamqp.ProcessInput) error {
		_, err := a.Registry.AMQP.UpdateProcess(c.Request().Context(), site.Actor(c), row.PartyID, row.ID, in)
		return a.saved(c, err, a.party(row.PartyID), "amqp.saved")
	}, a.showProcessForm)
}

// removeProcess ends a process.
func (a AMQPArea) removeProcess(c echo.Context) error {
	err := a.Registry.AMQP.RemoveProcess(c.Request().Context(), site.Actor(c), c.Param("id"), c.Param("process"))
	return a.settled(c, err, a.party(c.Param("id")), "amqp.process.removed")
}

func readProcess(form site.Form) registryamqp.ProcessInput {
	return registryamqp.ProcessInput{
		OwnPartyID: form.Get("ownPartyId"), Name: form.Get("name"), Subject: form.Get("subject"), Mode: form.Get("mode"), Service: form.Get("service"),
		Action: form.Get("action"), CPAID: form.Get("cpaId"), FromRole: form.Get("fromRole"), ToRole: form.Get("toRole"), Sends: form.Get("sends"),
		Receives: form.Get("receives"), HandlerID: form.Get("handlerId"),
	}
}

func (a AMQPArea) showProcessForm(c echo.Context, status int, row store.AMQPProcess, in registryamqp.ProcessInput, wrong site.FormErrors) error {
	ctx := c.Request().Context()
	party, err := a.Registry.AMQP.Party(ctx, a.bounds(c), c.Param("id"))
	if err != nil {
		return err
	}
	here := a.party(party.ID)
	v := view.AMQPProcessFormView{
		Action: here + "/processes", Cancel: here, New: row.ID == "", Own: in.OwnPartyID, Name: in.Name, Subject: in.Subject, Mode: in.Mode, Service: in.Service,
		Does: in.Action, FromRole: in.FromRole, ToRole: in.ToRole, CPAID: in.CPAID, Sends: in.Sends, Receives: in.Receives, Handler: in.HandlerID, Wrong: wrong,
	}
	title := i18n.T(ctx, "amqp.process.add")
	if row.ID != "" {
		title, v.Action = i18n.T(ctx, "amqp.process.title-change"), here+"/processes/"+url.PathEscape(row.ID)
	}
	if err := a.processOptions(c, in, &v); err != nil {
		return err
	}
	page := a.pageFrame(c, title, ui.Crumb{Label: party.Name, Href: here})
	page.Invalid = len(wrong) > 0
	return a.Render(c, status, view.AMQPProcessFormPage(page, v))
}

// processOptions fills in what can be chosen: our parties, the subjects of the settings, and our webhooks.
func (a AMQPArea) processOptions(c echo.Context, in registryamqp.ProcessInput, v *view.AMQPProcessFormView) error {
	ctx := c.Request().Context()
	parties, err := a.Registry.AMQP.Parties(ctx, a.bounds(c), "")
	if err != nil {
		return err
	}
	v.Parties = []ui.Option{{Label: i18n.T(ctx, "amqp.process.choose-own-party")}}
	for _, p := range parties {
		if p.Own {
			v.Parties = append(v.Parties, ui.Option{Value: p.ID, Label: i18n.T(ctx, "amqp.process.party-option", p.Name, site.NumberText(p.HerID))})
		}
	}
	set, err := a.Registry.Profile.Current(ctx)
	if err != nil {
		return err
	}
	v.Subjects = []ui.Option{{Label: i18n.T(ctx, "amqp.process.choose-subject")}}
	for _, code := range withChosen(set.AMQPSubjects, in.Subject) {
		v.Subjects = append(v.Subjects, ui.Option{Value: code, Label: code})
	}
	own, err := a.Registry.Partners.Own(ctx)
	if err != nil {
		return err
	}
	endpoints, err := a.Registry.Endpoints.List(ctx, a.bounds(c), own.ID)
	if err != nil {
		return err
	}
	v.Handlers = []ui.Option{{Label: i18n.T(ctx, "amqp.process.handler-none")}}
	for _, e := range endpoints {
		if e.Kind == store.EndpointWebhook {
			v.Handlers = append(v.Handlers, ui.Option{Value: e.ID, Label: e.Name})
		}
	}
	return nil
}

// withChosen adds the value there is to a list of choices that lost it.
func withChosen(list []string, value string) []string {
	if value == "" || slices.Contains(list, value) {
		return list
	}
	return append([]string{value}, list...)
}
