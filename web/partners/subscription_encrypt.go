package partners

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/delivery/jwe"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

func readEncryption(form site.Form) string { return form.Get("encryption") }

// encryption shows whom the data of a subscription is encrypted for.
func (d ownerPages) encryption(c echo.Context) error {
	_, grant, err := d.ownSubscription(c)
	if err != nil {
		return err
	}
	return d.showEncryption(c, http.StatusOK, grant.Subscription, grant.Subscription.Encrypt, nil)
}

// changeEncryption changes whom it is encrypted for.
func (d ownerPages) changeEncryption(c echo.Context) error {
	_, grant, err := d.ownSubscription(c)
	if err != nil {
		return err
	}
	return site.SubmitAbout(c, grant.Subscription, readEncryption, func(recipient string) error {
		ctx := c.Request().Context()
		err := d.Registry.Subscriptions.SetEncryption(ctx, site.Actor(c), grant.Subscription.ID, recipient)
		if err == nil {
			store.AfterCommit(ctx, d.Engine.Changed)
		}
		return d.Settled(c, err, d.Href("/subscriptions/"+grant.Subscription.ID), "partners.encrypt.saved")
	}, d.showEncryption)
}

func (d ownerPages) showEncryption(c echo.Context, status int, sub store.Subscription, typed string, wrong site.FormErrors) error {
	if sub.DatasetID != "" {
		return store.ErrNotFound
	}
	ctx, here := c.Request().Context(), d.Href("/subscriptions/"+sub.ID)
	v := view.EncryptView{
		Here: here + "/encryption", Cancel: here, Recipient: typed, On: sub.Encrypt != "", Wrong: wrong, Now: d.Cfg.Now(),
		Open: sub.Status != store.SubscriptionEnded && sub.Status != store.SubscriptionRejected,
	}
	if v.On {
		v.Trouble = d.encryptTrouble(ctx, sub.Encrypt)
		for _, k := range d.Encrypter.Keys(sub.Encrypt) {
			v.Keys = append(v.Keys, view.EncryptKeyRow{ID: k.ID, Algorithm: k.Algorithm(), Thumbprint: k.Thumbprint(), Expires: k.Expires})
		}
	}
	page := d.PageFrame(c, i18n.T(ctx, "partners.encrypt.title"),
		ui.Crumb{Label: i18n.T(ctx, "partners.label.subscriptions"), Href: d.Href("/subscriptions")}, ui.Crumb{Label: site.SubscriptionLabel(ctx, sub), Href: here})
	page.Lead, page.Invalid = i18n.T(ctx, "partners.encrypt.lead"), len(wrong) > 0
	return d.Render(c, status, view.EncryptPage(page, v))
}

// encryptTrouble gives the reason why nothing can be encrypted for a recipient now; empty when it can.
func (d ownerPages) encryptTrouble(ctx context.Context, recipient string) string {
	_, err := d.Encrypter.Key(ctx, recipient)
	if wrong, ok := errors.AsType[*jwe.Problem](err); ok {
		return i18n.T(ctx, "partners.encrypt.trouble", wrong.Message)
	}
	return ""
}

// encryptionBody says in the API whom data is encrypted for: one of both.
type encryptionBody struct {
	JWKS    json.RawMessage `json:"jwks,omitempty"`
	JWKSURI string          `json:"jwksUri,omitempty"`
}

func newEncryptionBody(recipient string) *encryptionBody {
	switch {
	case recipient == "":
		return nil
	case jwe.IsAddress(recipient):
		return &encryptionBody{JWKSURI: recipient}
	}
	return &encryptionBody{JWKS: json.RawMessage(recipient)}
}

// readEncryptionBody reads what the API is given; null is for nobody.
func readEncryptionBody(raw json.RawMessage) (string, error) {
	var in *encryptionBody
	if len(raw) == 0 {
		return "", nil
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return "", site.FieldProblem("encryption", "partners.encrypt.one-of")
	}
	switch {
	case in == nil:
		return "", nil
	case (len(in.JWKS) == 0) == (in.JWKSURI == ""), in.JWKSURI != "" && !jwe.IsAddress(in.JWKSURI):
		return "", site.FieldProblem("encryption", "partners.encrypt.one-of")
	case in.JWKSURI != "":
		return in.JWKSURI, nil
	}
	return string(in.JWKS), nil
}
