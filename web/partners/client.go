package partners

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/store"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// client shows a client.
func (d ownerPages) client(c echo.Context) error {
	owner, client, err := d.ownClient(c)
	if err != nil {
		return err
	}
	v, err := d.clientView(c, owner, client)
	if err != nil {
		return err
	}
	return d.showClient(c, http.StatusOK, client, v)
}

// rotateSecret makes another secret and shows it, once.
func (d ownerPages) rotateSecret(c echo.Context) error {
	owner, client, err := d.ownClient(c)
	if err != nil {
		return err
	}
	changed, secret, err := d.Registry.Clients.RotateSecret(c.Request().Context(), site.Actor(c), client.ID)
	if err != nil {
		return d.Settled(c, err, d.Href("/clients/"+client.ID), "")
	}
	return d.showSecret(c, owner, changed, secret)
}

// addKeyPair makes another key pair and shows the private key, once.
func (d ownerPages) addKeyPair(c echo.Context) error {
	owner, client, err := d.ownClient(c)
	if err != nil {
		return err
	}
	changed, pair, err := d.Registry.Clients.AddKeyPair(c.Request().Context(), site.Actor(c), client.ID)
	if err != nil {
		return d.Settled(c, err, d.Href("/clients/"+client.ID), "")
	}
	return d.showKey(c, owner, changed, pair)
}

// showKey shows a client with the private key of its new key pair.
func (d ownerPages) showKey(c echo.Context, owner store.Partner, client store.Client, pair token.KeyPair) error {
	v, err := d.clientView(c, owner, client)
	if err != nil {
		return err
	}
	v.PrivateKey, v.PEM = pair.Private, pair.PEM
	return d.showClient(c, http.StatusOK, client, v)
}

// revokeClient ends a client for good.
func (d ownerPages) revokeClient(c echo.Context) error {
	owner, client, err := d.ownClient(c)
	if err != nil {
		return err
	}
	reason, wrong, err := site.ReadReason(c)
	if err != nil {
		return err
	}
	if wrong == "" {
		err = d.Registry.Clients.Revoke(c.Request().Context(), site.Actor(c), client.ID, reason)
		if fields, ok := site.Refused(err); ok {
			wrong = fields["reason"]
		}
	}
	if wrong != "" {
		v, err := d.clientView(c, owner, client)
		if err != nil {
			return err
		}
		v.RevokeReason, v.RevokeError = reason, wrong
		return d.showClient(c, http.StatusUnprocessableEntity, client, v)
	}
	return d.Settled(c, err, d.Href("/clients/"+client.ID), "The client is revoked: its secret, keys and tokens do not work any more.")
}

// showSecret shows a client with the secret it has just got.
func (d ownerPages) showSecret(c echo.Context, owner store.Partner, client store.Client, secret string) error {
	v, err := d.clientView(c, owner, client)
	if err != nil {
		return err
	}
	v.Secret = secret
	return d.showClient(c, http.StatusOK, client, v)
}

func (d ownerPages) showClient(c echo.Context, status int, client store.Client, v view.ClientView) error {
	page := d.PageFrame(c, client.Name, d.crumbsToClients(store.Client{})...)
	page.Badge, page.Invalid = ui.State(client.Status), status != http.StatusOK
	if v.CanChange {
		page.Actions = ui.LinkButton(ui.Secondary, "Change", v.Href+"/edit")
	}
	return d.Render(c, status, view.ClientPage(page, v))
}

func (d ownerPages) clientView(c echo.Context, owner store.Partner, client store.Client) (view.ClientView, error) {
	v := view.ClientView{
		Href: d.Href("/clients/" + client.ID), ID: client.ID, State: client.Status, Reason: client.StatusReason, Method: client.AuthMethod,
		JWKSURI: client.JWKSURI, JWKS: site.ReadableJSON(client.JWKS), Scopes: client.Scopes, Types: client.PublishTypes, Sources: client.PublishSources,
		RequestedScopes: client.RequestedScopes, RequestedTypes: client.RequestedTypes, RequestedSources: client.RequestedSources,
		Created: client.CreatedAt.Time, Changed: client.UpdatedAt.Time, Decided: client.DecidedAt.Time, DecidedBy: client.DecidedBy, Now: d.Cfg.Now(),
		Closed: site.Waits(owner), HasSecret: client.AuthMethod != token.PrivateKeyJWT, HasKeys: client.AuthMethod == token.PrivateKeyJWT && client.JWKSURI == "", CanChange: site.Waits(owner) == "" && client.Status == store.ClientActive,
	}
	v.TokenExample = TokenExample(client, d.Absolute(""))
	if slices.Contains(client.Scopes, identity.ScopeEventsPublish) {
		reader, err := d.Reader(c)
		if err != nil {
			return v, err
		}
		catalogue, err := d.Registry.EventTypes.Catalogue(c.Request().Context(), reader)
		if err != nil {
			return v, err
		}
		v.PublishExample = PublishExample(client, catalogue, d.Absolute("/events/v1/events"))
	}
	return v, nil
}
