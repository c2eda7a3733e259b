package partners

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/window"
	"schakel/registry"
	"schakel/registry/contracts/contract"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// newEndpoint shows the form for another endpoint.
func (d ownerPages) newEndpoint(c echo.Context) error {
	owner, err := d.Owner(c)
	if err != nil || site.Waits(c.Request().Context(), owner) != "" {
		return d.Closed(c, err, "/endpoints")
	}
	kind, err := d.kindToAdd(c, owner)
	if err != nil {
		return err
	}
	set, err := d.Registry.Profile.Current(c.Request().Context())
	if err != nil {
		return err
	}
	form, err := site.NewForm(c.QueryParams())
	if err != nil {
		return err
	}
	return d.showEndpointForm(c, http.StatusOK, store.Endpoint{}, endpointForm{typed: SendingOf(store.Endpoint{}), types: form.List("types"), EndpointInput: partners.EndpointInput{
		Kind: kind, ContentMode: set.ContentMode, TokenAuthMethod: d.Registry.Endpoints.TokenAuthMethods()[0],
	}}, nil)
}

// kindToAdd returns the kind of endpoint that the address asks for, or else what the organisation chose at its registration for its first one. A test
// inbox is no way to receive.
func (d ownerPages) kindToAdd(c echo.Context, owner store.Partner) (string, error) {
	kinds := d.Registry.Endpoints.ServedKinds()
	if kind := c.QueryParam("kind"); slices.Contains(kinds, kind) {
		return kind, nil
	}
	made, err := d.Registry.Endpoints.List(c.Request().Context(), registry.ScopeOf(owner.ID), owner.ID)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(made, func(e store.Endpoint) bool { return e.Kind != store.EndpointInbox }) {
		return kinds[0], nil
	}
	for _, kind := range owner.EndpointKinds {
		if slices.Contains(kinds, kind) {
			return kind, nil
		}
	}
	return kinds[0], nil
}

// editEndpoint shows the form with what an endpoint is now.
func (d ownerPages) editEndpoint(c echo.Context) error {
	owner, e, err := d.ownEndpoint(c)
	if err != nil || site.Waits(c.Request().Context(), owner) != "" || e.Status == store.EndpointEnded {
		return d.Closed(c, err, "/endpoints/"+e.ID)
	}
	address, err := d.addressToEdit(c, e)
	if err != nil {
		return err
	}
	return d.showEndpointForm(c, http.StatusOK, e, endpointForm{typed: SendingOf(e), EndpointInput: partners.EndpointInput{
		Name: e.Name, Kind: e.Kind, URL: address, ContentMode: e.ContentMode, TokenURL: e.TokenURL, TokenClientID: e.TokenClientID,
		TokenScope: e.TokenScope, TokenAuthMethod: e.TokenAuthMethod, RatePerSecond: e.RatePerSecond, MaxConcurrency: e.MaxConcurrency,
		TimeoutSeconds: e.TimeoutMS / 1000,
	}}, nil)
}

// updateEndpoint changes an endpoint.
func (d ownerPages) updateEndpoint(c echo.Context) error {
	_, e, err := d.ownEndpoint(c)
	if err != nil {
		return err
	}
	return site.SubmitAbout(c, e, readEndpoint, func(in endpointForm) error {
		if err := d.tryToken(c.Request().Context(), in, e); err != nil {
			return err
		}
		waiting, _, err := d.Registry.Endpoints.Move(c.Request().Context(), site.Actor(c).Scope(), e.ID)
		if err != nil {
			return err
		}
		changed, err := d.Registry.Endpoints.Update(c.Request().Context(), site.Actor(c), e.ID, in.EndpointInput)
		if err == nil && changed.Kind == store.EndpointWebhook && changed.URL != e.URL {
			return d.testNewAddress(c, changed, in.anyway)
		}
		return d.movedOrSaved(c, err, e.ID, waiting.ID)
	}, d.showEndpointForm)
}

// endpointForm is an endpoint as typed, with what could not be read of it.
type endpointForm struct {
	partners.EndpointInput
	typed  view.SendingFields
	anyway bool     // also when the token endpoint gives no token
	types  []string // that a subscription at the new endpoint is to be asked for
	trial  *tokenTrial
	wrong  site.FormErrors
}

// refused refuses what is wrong or could not be read; was is the endpoint that changes.
func (in endpointForm) refused(endpoints *partners.Endpoints, was store.Endpoint) error {
	return registry.Problems(in.wrong.With(endpoints.Wrong(in.EndpointInput, was))).Err()
}

func readEndpoint(form site.Form) endpointForm {
	in := endpointForm{wrong: site.FormErrors{}, typed: typedSending(form), trial: &tokenTrial{}, anyway: form.Get("do") == "anyway", types: form.List("types")}
	in.EndpointInput = partners.EndpointInput{
		Name: form.Get("name"), Kind: form.Get("kind"), URL: form.Get("url"), ContentMode: form.Get("contentMode"),
		TokenURL: form.Get("tokenUrl"), TokenClientID: form.Get("tokenClientId"), TokenScope: form.Get("tokenScope"),
		TokenSecret: form.Raw("tokenSecret"), TokenAuthMethod: form.Get("tokenAuthMethod"),
		RatePerSecond: site.FormNumber(form, "ratePerSecond", in.wrong), MaxConcurrency: site.FormNumber(form, "maxConcurrency", in.wrong),
		TimeoutSeconds: site.FormNumber(form, "timeoutSeconds", in.wrong),
	}
	readSending(form, &in.EndpointInput, in.wrong)
	readCertificate(form, &in.EndpointInput, in.wrong)
	return in
}

func (d ownerPages) showEndpointForm(c echo.Context, status int, e store.Endpoint, in endpointForm, wrong site.FormErrors) error {
	ctx := c.Request().Context()
	v := view.EndpointFormView{
		Action: d.Href("/endpoints"), Cancel: d.Href("/endpoints"), New: e.ID == "", Kind: in.Kind, Name: in.Name, URL: in.URL,
		ContentMode: in.ContentMode, TokenURL: in.TokenURL, TokenClientID: in.TokenClientID, TokenScope: in.TokenScope,
		TokenAuthMethod: in.TokenAuthMethod, AuthMethods: tokenMethods(ctx, d.Registry.Endpoints.TokenAuthMethods()),
		Types: in.types, HasSecret: e.TokenSecret != "", JWKS: d.Absolute("/oauth/jwks"), Sending: in.typed, Wrong: wrong,
	}
	if v.Kind = in.Kind; e.ID != "" {
		v.Kind = e.Kind
	}
	v.Pull, v.AMQP, v.Files, v.Inbox = v.Kind == store.EndpointPull, v.Kind == store.EndpointAMQP, v.Kind == store.EndpointFiles, v.Kind == store.EndpointInbox
	var err error
	if v.Contracts, err = d.apiContracts(c); err != nil {
		return err
	}
	set, err := d.Registry.Profile.Current(ctx)
	if err != nil {
		return err
	}
	v.KindText, v.Token, v.Local = kindText(ctx, v.Kind), in.token(ctx), isLocal(in.URL) && wrong["url"] != ""
	v.Advanced, v.PullHref = advancedWrong(wrong), withTypes(d.Href("/endpoints/new?kind=pull"), in.types)
	d.withCertificate(ctx, &v, e, in)
	v.Deviations = in.deviations(ctx, set.ContentMode, len(v.Certificates) > 0)
	if !v.New && v.Kind == store.EndpointWebhook {
		if v.Waits, err = d.Registry.Endpoints.WaitMode(ctx, site.Actor(c)); err != nil {
			return err
		}
	}
	if v.New {
		v.Ways = d.endpointWays(ctx, v.Kind, in.types)
		if slices.Contains(d.Registry.Endpoints.ServedKinds(), store.EndpointInbox) {
			v.InboxHref = withTypes(d.Href("/endpoints/new?kind=inbox"), in.types)
		}
	}
	title := i18n.T(ctx, "partners.action.add-endpoint")
	if e.ID != "" {
		title, v.Action, v.Cancel = i18n.T(ctx, "partners.endpoint.change"), d.Href("/endpoints/"+e.ID), d.Href("/endpoints/"+e.ID)
	}
	page := d.PageFrame(c, title, d.crumbsToEndpoints(ctx, e)...)
	page.Invalid = len(wrong) > 0
	return d.Render(c, status, view.EndpointFormPage(page, v))
}

// tokenMethods names the methods of authentication for people.
func tokenMethods(ctx context.Context, methods []string) []ui.Option {
	var options []ui.Option
	for _, m := range methods {
		options = append(options, ui.Option{Value: m, Label: m, Hint: i18n.Of(ctx, "partners.endpoint.token-method", m)})
	}
	return options
}

// choosableContracts is up to how many contracts are listed to choose from.
const choosableContracts = 200

// apiContracts are the published OpenAPI contracts that an endpoint can name; none
// when there are too many to choose from a list.
func (d ownerPages) apiContracts(c echo.Context) ([]ui.Option, error) {
	reader, err := d.Reader(c)
	if err != nil {
		return nil, err
	}
	list, total, err := d.Registry.Contracts.List(c.Request().Context(), reader, store.ContractFilter{
		Kind: string(contract.OpenAPI), Page: store.Page{Number: 1, Size: choosableContracts},
	})
	if err != nil || total > choosableContracts {
		return nil, err
	}
	var options []ui.Option
	for _, s := range list {
		if s.Latest.ID != "" {
			options = append(options, ui.Option{Value: s.ID, Label: s.Title + " (" + s.ID + ")"})
		}
	}
	return options, nil
}

// defaultZone is filled in beforehand: the chains this profile is for are Dutch.
const defaultZone = "Europe/Amsterdam"

// typedSending returns the delivery windows and batch limits of an endpoint as typed in the form.
func typedSending(form site.Form) view.SendingFields {
	return view.SendingFields{
		Rate: form.Get("ratePerSecond"), Concurrency: form.Get("maxConcurrency"), Timeout: form.Get("timeoutSeconds"),
		TimeZone: form.Get("timeZone"), Windows: form.Get("windows"), BatchEvents: form.Get("batchEvents"), BatchBytes: form.Get("batchBytes"),
		BatchWait: form.Get("batchWaitSeconds"), ContractID: form.Get("contractId"), ContractVersion: form.Get("contractVersion"),
		BatchStated: form.Get("batchStated") != "",
	}
}

// readSending reads that part of the form.
func readSending(form site.Form, in *partners.EndpointInput, wrong site.FormErrors) {
	typed := typedSending(form)
	in.BatchEvents, in.BatchBytes = site.FormNumber(form, "batchEvents", wrong), site.FormNumber(form, "batchBytes", wrong)
	in.BatchWaitSeconds, in.BatchStated = site.FormNumber(form, "batchWaitSeconds", wrong), typed.BatchStated
	in.ContractID, in.ContractVersion = typed.ContractID, typed.ContractVersion
	week, err := window.ParseLines(cmp.Or(typed.TimeZone, defaultZone), typed.Windows)
	if err != nil {
		wrong["windows"] = i18n.Raw(site.Capital(err.Error()) + ".")
		return
	}
	in.Windows = week.String()
}

// SendingOf shows what an endpoint has now.
func SendingOf(e store.Endpoint) view.SendingFields {
	v := view.SendingFields{
		Rate: site.NumberText(e.RatePerSecond), Concurrency: site.NumberText(e.MaxConcurrency), Timeout: site.NumberText(e.TimeoutMS / 1000),
		TimeZone: defaultZone, BatchEvents: site.NumberText(e.BatchEvents), BatchBytes: site.NumberText(e.BatchBytes), BatchWait: site.NumberText(e.BatchWaitMS / 1000),
		ContractID: e.ContractID, ContractVersion: e.ContractVersion, BatchStated: e.BatchStated,
	}
	switch week, err := window.Parse(e.Windows); {
	case err != nil:
		v.Windows = e.Windows // as it is, so that saving the form does not open the endpoint
	case !week.Always():
		v.TimeZone, v.Windows = week.TimeZone(), strings.Join(week.Lines(), "\n")
	}
	return v
}

// batchWords describes the number of events in one request, and the ground for it: a contract or the word of the partner.
func batchWords(ctx context.Context, e store.Endpoint) string {
	if e.BatchEvents < 2 {
		return i18n.T(ctx, "partners.endpoint.batches-off")
	}
	bytes := e.BatchBytes
	if bytes == 0 {
		bytes = store.DefaultBatchBytes
	}
	size := i18n.Bytes(ctx, bytes)
	wait := i18n.Duration(ctx, time.Duration(e.BatchWaitMS)*time.Millisecond)
	switch {
	case e.BatchStated && e.BatchWaitMS > 0:
		return i18n.T(ctx, "partners.endpoint.batches-stated-wait", e.BatchEvents, size, wait)
	case e.BatchStated:
		return i18n.T(ctx, "partners.endpoint.batches-stated", e.BatchEvents, size)
	case e.BatchWaitMS > 0:
		return i18n.T(ctx, "partners.endpoint.batches-contract-wait", e.BatchEvents, size, wait)
	}
	return i18n.T(ctx, "partners.endpoint.batches-contract", e.BatchEvents, size)
}

// receiverContract names the contract of the receiver, if the endpoint has one.
func receiverContract(e store.Endpoint) ui.Named {
	if e.ContractID == "" {
		return ui.Named{}
	}
	return ui.Named{Name: e.ContractID + " " + e.ContractVersion, Href: site.ContractVersionHref(e.ContractID, e.ContractVersion)}
}
