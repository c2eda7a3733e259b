package partners

import (
	"bytes"
	"cmp"
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/store"
	"schakel/templates/i18n"
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
	return d.showClient(c, http.StatusOK, owner, client, func(*view.ClientView) {})
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
	return d.showClient(c, http.StatusOK, owner, changed, func(v *view.ClientView) { v.Secret = secret })
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
	return d.showClient(c, http.StatusOK, owner, client, func(v *view.ClientView) {
		v.PrivateKey, v.PEM, v.KeyName = pair.Private, pair.PEM, site.KeyName(client.ID, pair.KeyID)
	})
}

// revokeClient ends a client for good.
func (d ownerPages) revokeClient(c echo.Context) error {
	owner, client, err := d.ownClient(c)
	if err != nil {
		return err
	}
	return site.WithReason(c, site.ShortReason, func(reason string) error {
		err := d.Registry.Clients.Revoke(c.Request().Context(), site.Actor(c), client.ID, reason)
		return d.Settled(c, err, d.Href("/clients/"+client.ID), "partners.client.revoked")
	}, func(reason string, wrong i18n.Message) error {
		return d.showClient(c, http.StatusUnprocessableEntity, owner, client, func(v *view.ClientView) { v.RevokeReason, v.RevokeError = reason, wrong })
	})
}

// showClient shows a client, with what change adds to its page.
func (d ownerPages) showClient(c echo.Context, status int, owner store.Partner, client store.Client, change func(*view.ClientView)) error {
	v, err := d.clientView(c, owner, client)
	if err != nil {
		return err
	}
	change(&v)
	page := d.PageFrame(c, client.Name, d.crumbsToClients(c.Request().Context(), store.Client{})...)
	page.Badge, page.Invalid = ui.State(client.Status), status != http.StatusOK
	if v.CanChange {
		page.Actions = ui.LinkButton(ui.Secondary, i18n.T(c.Request().Context(), "partners.label.change"), v.Href+"/edit")
	}
	return d.Render(c, status, view.ClientPage(page, v))
}

func (d ownerPages) clientView(c echo.Context, owner store.Partner, client store.Client) (view.ClientView, error) {
	v := view.ClientView{
		Href: d.Href("/clients/" + client.ID), ID: client.ID, State: client.Status, Reason: i18n.Message(client.StatusReason).In(c.Request().Context()), Method: client.AuthMethod,
		JWKSURI: client.JWKSURI, JWKS: site.ReadableJSON(c.Request().Context(), client.JWKS), Scopes: client.Scopes, Types: client.PublishTypes, Sources: client.PublishSources,
		RequestedScopes: client.RequestedScopes, RequestedTypes: client.RequestedTypes, RequestedSources: client.RequestedSources,
		RequestedKeys: identity.RequestedKeys(client).In(c.Request().Context()), KeysWait: d.Registry.Clients.KeysWait(c.Request().Context(), site.Actor(c), client),
		Created: client.CreatedAt.Time, Changed: client.UpdatedAt.Time, Decided: client.DecidedAt.Time, DecidedBy: client.DecidedBy, Now: d.Cfg.Now(),
		Closed: site.Waits(c.Request().Context(), owner), HasSecret: identity.HasSecret(client.AuthMethod), HasKeys: client.AuthMethod == token.PrivateKeyJWT && client.JWKSURI == "", CanChange: site.Waits(c.Request().Context(), owner) == "" && client.Status == store.ClientActive,
	}
	v.CertificateSubject, v.CertificateBound, v.CertificateKeys = client.CertificateSubject, client.CertificateBound, client.CertificateKeys
	v.DPoPBound = client.DPoPBound
	v.CertificateSeen, v.CertificateUntil = client.CertificateSeen, client.CertificateUntil.Time
	v.TokenExample, v.CanPublish = TokenExample(client, d.Absolute("")), d.publishes(c.Request().Context(), owner, client)
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

// TokenExample is a command that puts an access token into the variable TOKEN. No secret is in it: schakel reads the
// private key from its file, which a browser saves readable by others, and the command asks for a secret.
func TokenExample(client store.Client, base string) string {
	address := base + "/oauth/token"
	scope := "  --data-urlencode " + site.Quoted("scope="+strings.Join(client.Scopes, " ")) + " \\\n"
	switch client.AuthMethod {
	case token.TLSClientAuth:
		return "TOKEN=$(curl --silent --show-error --fail-with-body --cert certificate.pem --key key.pem \\\n  --data grant_type=client_credentials \\\n" + scope +
			"  --data client_id=" + site.Quoted(client.ID) + " \\\n  " + site.Quoted(address) + tokenFilter
	case token.PrivateKeyJWT:
		key := site.Quoted(site.KeyFile(client))
		return "chmod 600 " + key + "\nTOKEN=$(schakel token --url " + site.Quoted(base) + " \\\n  --client-id " + site.Quoted(client.ID) + " --client-key-file " + key + ")"
	case token.ClientSecretBasic:
		return "TOKEN=$(curl --silent --show-error --fail-with-body --user " + site.Quoted(client.ID) + " \\\n  --data grant_type=client_credentials \\\n" + scope + "  " + site.Quoted(address) + tokenFilter
	}
	return "TOKEN=$({ " + site.AskSecret + "; } |\n  curl --silent --show-error --fail-with-body --data grant_type=client_credentials \\\n" + scope + "  --data client_id=" + site.Quoted(client.ID) +
		" \\\n  --data-urlencode client_secret@- \\\n  " + site.Quoted(address) + tokenFilter
}

// tokenFilter takes the access token out of the answer, without a tool for JSON.
const tokenFilter = ` |
  sed -E 's/.*"access_token":"([^"]+)".*/\1/')` // #nosec G101 -- a command without a secret

// PublishExample is a command that publishes an event the client may publish: of a type in the catalogue, with the example of
// its contract as the data, where there is one.
func PublishExample(client store.Client, catalogue []store.EventType, address string) string {
	eventType, source, data, mediaType := "nl.example.student.enrolled", "urn:example:source", "{}", "application/json"
	if len(client.PublishTypes) > 0 {
		eventType = filled(client.PublishTypes[0])
	}
	found := false
	for _, t := range catalogue {
		if identity.MayPublishType(client, t.Name) != nil {
			continue
		}
		example, ok := exampleData(t)
		if ok || !found {
			eventType, found = t.Name, true
		}
		if ok {
			data, mediaType = example, cmp.Or(t.ContentType, mediaType)
			break
		}
	}
	if len(client.PublishSources) > 0 {
		source = filled(client.PublishSources[0])
	}
	event := `{"specversion":"1.0","id":"'"$ID"'","source":"` + site.InShell(source) + `","type":"` + site.InShell(eventType) +
		`","datacontenttype":"` + site.InShell(mediaType) + `","data":` + site.InShell(data) + `}`
	return "ID=$(uuidgen 2>/dev/null || cat /proc/sys/kernel/random/uuid)\n" +
		"curl --oauth2-bearer \"$TOKEN\" \\\n  --header \"Idempotency-Key: \\\"$ID\\\"\" \\\n" +
		"  --header 'Content-Type: application/cloudevents+json' \\\n  --data '" + event + "' \\\n  " + site.Quoted(address)
}

// maxExampleBytes bounds the data in a command, which a shell takes as one argument.
const maxExampleBytes = 32 << 10

// exampleData is the data of an event type's example as JSON; ok is false when it has none that a command has room for.
func exampleData(t store.EventType) (data string, ok bool) {
	content := []byte(t.Example)
	if media, _, _ := mime.ParseMediaType(t.ContentType); t.ContentType != "" && media != "application/json" && !strings.HasSuffix(media, "+json") {
		return "", false
	}
	if site.IsWholeEvent(content) {
		var whole struct{ Data json.RawMessage }
		if json.Unmarshal(content, &whole) != nil || whole.Data == nil {
			return "", false
		}
		content = whole.Data
	}
	var compact bytes.Buffer
	if len(content) == 0 || json.Compact(&compact, content) != nil || compact.Len() > maxExampleBytes {
		return "", false
	}
	return compact.String(), true
}

// filled makes one value of a pattern.
func filled(pattern string) string {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return prefix + "example"
	}
	return pattern
}
