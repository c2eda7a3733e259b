package partners

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/delivery/webhook"
	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/web/api"
	"schakel/web/site"
)

// signForm is the signing of an endpoint as typed.
type signForm struct {
	partners.SigningInput
	typed string // the overlap
	wrong site.FormErrors
}

func readSign(form site.Form) signForm {
	in := signForm{typed: form.Get("overlapHours"), wrong: site.FormErrors{}}
	in.SigningInput = partners.SigningInput{Scheme: form.Get("scheme"), Algorithm: form.Get("algorithm"), OverlapHours: site.FormNumber(form, "overlapHours", in.wrong)}
	return in
}

// signing shows how requests to an endpoint are signed.
func (d ownerPages) signing(c echo.Context) error {
	_, e, err := d.ownEndpoint(c)
	if err != nil {
		return err
	}
	return d.showSigning(c, http.StatusOK, e, d.signFormOf(e), nil)
}

func (d ownerPages) signFormOf(e store.Endpoint) signForm {
	in := signForm{SigningInput: partners.SigningInput{Scheme: e.SignScheme, Algorithm: store.SignHMAC, OverlapHours: e.SignOverlapHours}}
	if keys, err := d.Registry.Endpoints.SignKeys(e, d.Cfg.Now()); err == nil && len(keys) > 0 {
		in.Algorithm = keys[0].Algorithm
	}
	if e.SignScheme == store.SignNone {
		in.OverlapHours = partners.DefaultOverlapHours
	}
	in.typed = site.NumberText(in.OverlapHours)
	return in
}

// changeSigning changes how requests are signed, and shows a new secret, once.
func (d ownerPages) changeSigning(c echo.Context) error {
	_, e, err := d.ownEndpoint(c)
	if err != nil {
		return err
	}
	return site.SubmitAbout(c, e, readSign, func(in signForm) error {
		if len(in.wrong) > 0 {
			return &site.FormRefused{Status: http.StatusUnprocessableEntity, Wrong: in.wrong}
		}
		changed, made, err := d.Registry.Endpoints.SetSigning(c.Request().Context(), site.Actor(c), e.ID, in.SigningInput)
		return d.signed(c, changed, made, err)
	}, func(c echo.Context, status int, e store.Endpoint, in signForm, wrong site.FormErrors) error {
		return d.showSigning(c, status, e, in, wrong)
	})
}

// rotateSigning makes another key, and shows its secret, once.
func (d ownerPages) rotateSigning(c echo.Context) error {
	_, e, err := d.ownEndpoint(c)
	if err != nil {
		return err
	}
	changed, made, err := d.Registry.Endpoints.RotateSignKey(c.Request().Context(), site.Actor(c), e.ID)
	return d.signed(c, changed, made, err)
}

func (d ownerPages) signed(c echo.Context, e store.Endpoint, made *partners.SignKey, err error) error {
	here := d.Href("/endpoints/" + c.Param("id") + "/signing")
	if err != nil || made == nil {
		return d.Settled(c, err, here, "partners.sign.saved")
	}
	d.Engine.Changed()
	return d.showSigning(c, http.StatusOK, e, d.signFormOf(e), nil, *made)
}

func (d ownerPages) showSigning(c echo.Context, status int, e store.Endpoint, in signForm, wrong site.FormErrors, made ...partners.SignKey) error {
	if e.Kind != store.EndpointWebhook {
		return store.ErrNotFound
	}
	ctx := c.Request().Context()
	keys, err := d.Registry.Endpoints.SignKeys(e, d.Cfg.Now())
	if err != nil {
		return err
	}
	v := view.SignView{
		Here: d.Href("/endpoints/"+e.ID) + "/signing", Scheme: in.Scheme, Algorithm: in.Algorithm, Overlap: in.typed, Wrong: wrong, Now: d.Cfg.Now(),
		On: e.SignScheme != store.SignNone, Open: e.Status != store.EndpointEnded,
	}
	for _, k := range keys {
		row := view.SignKeyRow{ID: k.ID, Algorithm: k.Algorithm, Created: k.CreatedAt.Time, Retires: k.RetiresAt.Time}
		if k.Algorithm == store.SignEd25519 {
			row.Public = webhook.SignKey{Algorithm: k.Algorithm, Secret: k.Secret}.Shared()
		}
		v.Keys = append(v.Keys, row)
	}
	for _, k := range made {
		if k.Algorithm == store.SignHMAC {
			v.Secret = webhook.SignKey{Algorithm: k.Algorithm, Secret: k.Secret}.Shared()
		}
	}
	page := d.PageFrame(c, i18n.T(ctx, "partners.sign.title"), d.crumbsToEndpoints(ctx, e)...)
	page.Lead, page.Invalid = i18n.T(ctx, "partners.sign.lead"), len(wrong) > 0
	return d.Render(c, status, view.SignPage(page, v))
}

// signText names how requests to an endpoint are signed.
func signText(scheme string) i18n.Message {
	switch scheme {
	case store.SignStandard:
		return i18n.Raw("Standard Webhooks")
	case store.SignMessage:
		return i18n.Raw("HTTP Message Signatures (RFC 9421)")
	}
	return "partners.sign.unsigned"
}

// SigningAnswer describes the signatures of requests to an endpoint.
type SigningAnswer struct {
	Scheme       string          `json:"scheme"` // "" for none
	OverlapHours int64           `json:"overlapHours"`
	Keys         []SignKeyAnswer `json:"keys"` // newest first
}

// SignKeyAnswer is a key that signs.
type SignKeyAnswer struct {
	ID        string     `json:"id"`
	Algorithm string     `json:"algorithm"`
	CreatedAt store.Time `json:"createdAt"`
	RetiresAt store.Time `json:"retiresAt,omitzero"`
	PublicKey string     `json:"publicKey,omitempty"`
}

func (m *handlers) signingAnswer(e store.Endpoint) (SigningAnswer, error) {
	keys, err := m.Registry.Endpoints.SignKeys(e, m.App.Cfg.Now())
	a := SigningAnswer{Scheme: e.SignScheme, OverlapHours: e.SignOverlapHours, Keys: []SignKeyAnswer{}}
	for _, k := range keys {
		row, shared := SignKeyAnswer{ID: k.ID, Algorithm: k.Algorithm, CreatedAt: k.CreatedAt, RetiresAt: k.RetiresAt}, webhook.SignKey{Algorithm: k.Algorithm, Secret: k.Secret}.Shared()
		if k.Algorithm == store.SignEd25519 {
			row.PublicKey = shared
		}
		a.Keys = append(a.Keys, row)
	}
	return a, err
}

// showSigning answers how requests to an endpoint of the caller are signed.
func (m *handlers) showSigning(c echo.Context, who api.Caller) error {
	e, err := m.Registry.Endpoints.Get(c.Request().Context(), who.Scope(), c.Param("endpointId"))
	if err != nil {
		return err
	}
	answer, err := m.signingAnswer(e)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, answer)
}

// rotateSigning makes another key of Ed25519 for an endpoint of the caller. One with a secret is made in the portal: answers here are kept.
func (m *handlers) rotateSigning(c echo.Context, who api.Caller) error {
	e, err := m.Registry.Endpoints.Get(c.Request().Context(), who.Scope(), c.Param("endpointId"))
	if err != nil {
		return err
	}
	keys, err := m.Registry.Endpoints.SignKeys(e, m.App.Cfg.Now())
	if err != nil {
		return err
	}
	if len(keys) > 0 && keys[0].Algorithm == store.SignHMAC {
		return registry.Conflict("partners.sign.by-portal")
	}
	if e, _, err = m.Registry.Endpoints.RotateSignKey(c.Request().Context(), who.Actor(), e.ID); err != nil {
		return err
	}
	m.Engine.Changed()
	answer, err := m.signingAnswer(e)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, answer)
}
