package partners

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"
	"schakel/registry/contracts/contract"
	"schakel/registry/partners"
	"schakel/store"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// newEndpoint shows the form for another endpoint.
func (d ownerPages) newEndpoint(c echo.Context) error {
	if owner, err := d.Owner(c); err != nil || site.Waits(owner) != "" {
		return d.Closed(c, err, "/endpoints")
	}
	kinds := d.Registry.Endpoints.ServedKinds()
	kind := c.QueryParam("kind")
	if !slices.Contains(kinds, kind) {
		kind = kinds[0]
	}
	set, err := d.Registry.Profile.Current(c.Request().Context())
	if err != nil {
		return err
	}
	in := partners.EndpointInput{
		Kind: kind, ContentMode: set.ContentMode, TokenAuthMethod: d.Registry.Endpoints.TokenAuthMethods()[0],
	}
	return d.showEndpointForm(c, http.StatusOK, store.Endpoint{}, in, SendingOf(store.Endpoint{}), nil)
}

// createEndpoint adds an endpoint.
func (d ownerPages) createEndpoint(c echo.Context) error {
	owner, err := d.Owner(c)
	if err != nil {
		return err
	}
	in, typed, wrong, err := readEndpoint(c)
	if err != nil {
		return err
	}
	if len(wrong) > 0 {
		return d.showEndpointForm(c, http.StatusUnprocessableEntity, store.Endpoint{}, in, typed, wrong.With(d.Registry.Endpoints.Wrong(in, store.Endpoint{})))
	}
	made, err := d.Registry.Endpoints.Create(c.Request().Context(), site.Actor(c), owner.ID, in)
	if fields, ok := site.Refused(err); ok {
		return d.showEndpointForm(c, http.StatusUnprocessableEntity, store.Endpoint{}, in, typed, fields)
	}
	if err != nil {
		return d.Settled(c, err, d.Href("/endpoints"), "")
	}
	text := "Endpoint " + made.Name + " is added. Send it a test event to see whether it answers."
	if made.Kind == store.EndpointPull {
		text = "Endpoint " + made.Name + " is added. Ask for a subscription with it; this page tells how to receive."
	}
	if made.Kind == store.EndpointFiles {
		text = "Endpoint " + made.Name + " is added. Ask for a subscription to a dataset with it."
	}
	if made.Kind == store.EndpointAMQP {
		text = "Endpoint " + made.Name + " is added. Fill in its party: the HER-id and queues that events go to."
	}
	return d.Done(c, d.Href("/endpoints/"+made.ID), text)
}

// editEndpoint shows the form with what an endpoint is now.
func (d ownerPages) editEndpoint(c echo.Context) error {
	owner, e, err := d.ownEndpoint(c)
	if err != nil || site.Waits(owner) != "" || e.Status == store.EndpointEnded {
		return d.Closed(c, err, "/endpoints/"+e.ID)
	}
	return d.showEndpointForm(c, http.StatusOK, e, partners.EndpointInput{
		Name: e.Name, Kind: e.Kind, URL: e.URL, ContentMode: e.ContentMode, TokenURL: e.TokenURL, TokenClientID: e.TokenClientID,
		TokenScope: e.TokenScope, TokenAuthMethod: e.TokenAuthMethod, RatePerSecond: e.RatePerSecond, MaxConcurrency: e.MaxConcurrency,
		TimeoutSeconds: e.TimeoutMS / 1000,
	}, SendingOf(e), nil)
}

// updateEndpoint changes an endpoint.
func (d ownerPages) updateEndpoint(c echo.Context) error {
	_, e, err := d.ownEndpoint(c)
	if err != nil {
		return err
	}
	in, typed, wrong, err := readEndpoint(c)
	if err != nil {
		return err
	}
	if len(wrong) > 0 {
		return d.showEndpointForm(c, http.StatusUnprocessableEntity, e, in, typed, wrong.With(d.Registry.Endpoints.Wrong(in, e)))
	}
	_, err = d.Registry.Endpoints.Update(c.Request().Context(), site.Actor(c), e.ID, in)
	if fields, ok := site.Refused(err); ok {
		return d.showEndpointForm(c, http.StatusUnprocessableEntity, e, in, typed, fields)
	}
	return d.Settled(c, err, d.Href("/endpoints/"+e.ID), "The endpoint is saved.")
}

// readEndpoint reads the form; a number that is none is wrong before anything else.
func readEndpoint(c echo.Context) (partners.EndpointInput, view.SendingFields, site.FormErrors, error) {
	form, err := site.ReadForm(c)
	if err != nil {
		return partners.EndpointInput{}, view.SendingFields{}, nil, err
	}
	wrong := site.FormErrors{}
	in := partners.EndpointInput{
		Name: form.Get("name"), Kind: form.Get("kind"), URL: form.Get("url"), ContentMode: form.Get("contentMode"),
		TokenURL: form.Get("tokenUrl"), TokenClientID: form.Get("tokenClientId"), TokenScope: form.Get("tokenScope"),
		TokenSecret: form.Raw("tokenSecret"), TokenAuthMethod: form.Get("tokenAuthMethod"),
		RatePerSecond: site.FormNumber(form, "ratePerSecond", wrong), MaxConcurrency: site.FormNumber(form, "maxConcurrency", wrong),
		TimeoutSeconds: site.FormNumber(form, "timeoutSeconds", wrong),
	}
	readSending(form, &in, wrong)
	return in, typedSending(form), wrong, nil
}

func (d ownerPages) showEndpointForm(c echo.Context, status int, e store.Endpoint, in partners.EndpointInput,
	typed view.SendingFields, wrong map[string]string,
) error {
	v := view.EndpointFormView{
		Action: d.Href("/endpoints"), Cancel: d.Href("/endpoints"), New: e.ID == "", Kind: in.Kind, Name: in.Name, URL: in.URL,
		ContentMode: in.ContentMode, TokenURL: in.TokenURL, TokenClientID: in.TokenClientID, TokenScope: in.TokenScope,
		TokenAuthMethod: in.TokenAuthMethod, AuthMethods: tokenMethods(d.Registry.Endpoints.TokenAuthMethods()),
		HasSecret: e.TokenSecret != "", JWKS: d.Absolute("/oauth/jwks"), Sending: typed, Wrong: wrong,
	}
	if v.Kind = in.Kind; e.ID != "" {
		v.Kind = e.Kind
	}
	v.Pull, v.AMQP, v.Files = v.Kind == store.EndpointPull, v.Kind == store.EndpointAMQP, v.Kind == store.EndpointFiles
	var err error
	if v.Contracts, err = d.apiContracts(c); err != nil {
		return err
	}
	for _, kind := range d.Registry.Endpoints.ServedKinds() {
		if v.New && kind != v.Kind {
			v.Others = append(v.Others, ui.Crumb{Label: otherKind(kind), Href: d.Href("/endpoints/new?kind=" + url.QueryEscape(kind))})
		}
	}
	title := "Add an endpoint"
	if e.ID != "" {
		title, v.Action, v.Cancel = "Change endpoint", d.Href("/endpoints/"+e.ID), d.Href("/endpoints/"+e.ID)
	}
	page := d.PageFrame(c, title, d.crumbsToEndpoints(e)...)
	page.Invalid = len(wrong) > 0
	return d.Render(c, status, view.EndpointFormPage(page, v))
}

// otherKind leads to the form for another kind of endpoint.
func otherKind(kind string) string {
	switch kind {
	case store.EndpointPull:
		return "Fetch the events yourself instead (pull)"
	case store.EndpointFiles:
		return "Fetch files with what changed in a dataset instead"
	case store.EndpointWebhook:
		return "Have the events sent to you instead (webhook)"
	}
	return "Receive by " + site.KindLabel(kind) + " instead"
}

// tokenMethods names the methods of authentication for people.
func tokenMethods(methods []string) []ui.Option {
	hints := map[string]string{
		"client_secret_basic": "Client id and secret in the Authorization header. The usual way.",
		"client_secret_post":  "Client id and secret in the body, for servers that want it so.",
		"private_key_jwt":     "A signed assertion in place of a secret. The safest way.",
		"none":                "No token at all. Only for trying things out.",
	}
	var options []ui.Option
	for _, m := range methods {
		options = append(options, ui.Option{Value: m, Label: m, Hint: hints[m]})
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
