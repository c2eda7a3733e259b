package partners

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// routesMove registers the page about a changed destination that waits, for its owner.
func (d ownerPages) routesMove(g site.RouteGroup) {
	change := g.Needs(registry.ChangeEndpoints)
	g.GET("/endpoints/:id/move", d.move)
	change.POST("/endpoints/:id/move/try", d.tryMove)
	change.POST("/endpoints/:id/move/withdraw", d.withdrawMove)
}

// routesMove registers the same for who decides about all of them.
func (p *pages) routesMove(g site.RouteGroup) {
	decide := g.Needs(registry.DecideApprovals)
	g.GET("/endpoints/:id/move", p.adminMove)
	decide.POST("/endpoints/:id/move/approve", p.approveMove, p.RequireProof)
	decide.POST("/endpoints/:id/move/decline", p.declineMove)
}

func (d ownerPages) move(c echo.Context) error {
	_, e, err := d.ownEndpoint(c)
	if err != nil {
		return err
	}
	crumbs := append(d.crumbsToEndpoints(c.Request().Context(), store.Endpoint{}), ui.Crumb{Label: e.Name, Href: d.Href("/endpoints/" + e.ID)})
	return d.pages.showMove(c, e, crumbs, site.Refusal{}, func(ctx context.Context, m store.EndpointMove, v *view.MoveView) {
		v.Mine = true
		here := d.Href("/endpoints/"+e.ID) + "/move"
		id := ui.Hidden{Name: "move", Value: m.ID}
		if m.Mode == store.MoveProof {
			v.Acts.Plain = append(v.Acts.Plain, ui.Act{Kind: ui.Primary, Label: i18n.T(ctx, "partners.move.try"), Action: here + "/try", Hidden: []ui.Hidden{id}})
		}
		v.Acts.Plain = append(v.Acts.Plain, ui.Act{Kind: ui.Secondary, Label: i18n.T(ctx, "partners.move.withdraw"), Action: here + "/withdraw", Hidden: []ui.Hidden{id}})
	})
}

func (d ownerPages) tryMove(c echo.Context) error {
	return d.decideMove(c, d.Registry.Endpoints.Prove, "partners.move.tried-now")
}

func (d ownerPages) withdrawMove(c echo.Context) error {
	return d.decideMove(c, d.Registry.Endpoints.WithdrawMove, "partners.move.withdrawn")
}

func (d ownerPages) decideMove(c echo.Context, do func(ctx context.Context, actor registry.Actor, endpointID, moveID string) error, done i18n.Message) error {
	_, e, err := d.ownEndpoint(c)
	if err != nil {
		return err
	}
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err = do(ctx, site.Actor(c), e.ID, form.Get("move")); err != nil {
		return d.Settled(c, err, d.Href("/endpoints/"+e.ID)+"/move", "")
	}
	now, err := d.Registry.Endpoints.Get(ctx, registry.ScopeOf(e.PartnerID), e.ID)
	if err == nil && now.URL != e.URL {
		return d.testNewAddress(c, now, false)
	}
	return d.Settled(c, err, d.Href("/endpoints/"+e.ID)+"/move", done)
}

func (p *pages) adminMove(c echo.Context) error { return p.showAdminMove(c, "", "") }

// showAdminMove shows a change with what can be decided about it; reason and wrong are of a refusal without one.
func (p *pages) showAdminMove(c echo.Context, reason string, wrong i18n.Message) error {
	e, err := p.Registry.Endpoints.Get(c.Request().Context(), site.Actor(c).Scope(), c.Param("id"))
	if err != nil {
		return err
	}
	here := "/admin/endpoints/" + e.ID
	crumbs := []ui.Crumb{{Label: i18n.T(c.Request().Context(), "partners.label.endpoints"), Href: "/admin/endpoints"}, {Label: e.Name, Href: here}}
	r := site.Refusal{}
	if wrong != "" {
		r.Status = http.StatusUnprocessableEntity
	}
	two, err := p.Registry.Confirmations.On(c.Request().Context(), registry.TwoApprovals)
	if err != nil {
		return err
	}
	return p.showMove(c, e, crumbs, r, func(ctx context.Context, m store.EndpointMove, v *view.MoveView) {
		id := []ui.Hidden{{Name: "move", Value: m.ID}}
		if m.Mode == store.MoveApproval && v.Approved == "" {
			v.Acts.Plain = []ui.Act{{Kind: ui.Primary, Label: i18n.T(ctx, "partners.move.approve"), Action: here + "/move/approve", Hidden: id}}
			if two {
				v.What = i18n.T(ctx, "partners.move.what-approval") + " " + i18n.T(ctx, "confirm.step-explain")
			}
		}
		v.Acts.Danger = []ui.Danger{{
			ID: "decline", Label: i18n.T(ctx, "partners.move.decline"), Button: i18n.T(ctx, "partners.move.decline"), Action: here + "/move/decline", Hidden: id,
			Explain: i18n.T(ctx, "partners.move.decline-explain"), ReasonName: "reason", ReasonLabel: i18n.T(ctx, "site.reason-for-partner"), ReasonValue: reason, ReasonError: wrong,
		}}
	})
}

func (p *pages) approveMove(c echo.Context) error {
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	ctx, here := c.Request().Context(), "/admin/endpoints/"+c.Param("id")+"/move"
	before, err := p.Registry.Endpoints.Get(ctx, site.Actor(c).Scope(), c.Param("id"))
	if err != nil {
		return err
	}
	if err = p.Registry.Endpoints.ApproveMove(ctx, site.Actor(c), before.ID, form.Get("move")); err != nil {
		return p.Settled(c, err, here, "")
	}
	now, err := p.Registry.Endpoints.Get(ctx, site.Actor(c).Scope(), before.ID)
	if err != nil || now.URL == before.URL || now.Status != store.EndpointActive {
		return p.Settled(c, err, here, "partners.move.approved")
	}
	delivery, err := p.sendTest(c, now.ID)
	if err == nil {
		err = p.awaitAttempt(ctx, delivery)
	}
	if err != nil {
		return err
	}
	return p.Done(c, "/admin/deliveries/"+delivery, "partners.move.approved-tested")
}

func (p *pages) declineMove(c echo.Context) error {
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	return site.WithReason(c, site.ShortReason, func(reason string) error {
		err := p.Registry.Endpoints.DeclineMove(c.Request().Context(), site.Actor(c), c.Param("id"), form.Get("move"), reason)
		return p.Settled(c, err, "/admin/endpoints/"+c.Param("id")+"/move", "partners.move.declined")
	}, func(reason string, wrong i18n.Message) error { return p.showAdminMove(c, reason, wrong) })
}

// showMove draws the page of a change; offer adds what the reader can do while it waits.
func (p *pages) showMove(c echo.Context, e store.Endpoint, crumbs []ui.Crumb, r site.Refusal, offer func(context.Context, store.EndpointMove, *view.MoveView)) error {
	ctx := c.Request().Context()
	m, ok, err := p.Registry.Endpoints.Move(ctx, registry.Scope{All: true}, e.ID) // who may see the endpoint was looked at
	if err != nil {
		return err
	}
	if !ok {
		return store.ErrNotFound
	}
	moved := partners.Moved(e, m)
	v := view.MoveView{Now: destination(ctx, e), New: destination(ctx, moved)}
	v.Facts = p.moveFacts(ctx, m)
	if m.Status == store.MoveWaiting {
		for _, what := range partners.Untold(e, moved) {
			v.Differs = append(v.Differs, i18n.T(ctx, "partners.move.differs", what))
		}
		v.What, v.Acts.Title = i18n.T(ctx, "partners.move.what-approval"), i18n.T(ctx, "site.decide")
		if v.Approved, err = p.approvedBy(ctx, m); err != nil {
			return err
		}
		if v.Approved != "" {
			v.What = i18n.T(ctx, "partners.move.what-second", v.Approved)
		}
		if m.Mode == store.MoveProof {
			v.Failed = i18n.Message(m.Tried).In(ctx)
			v.What, v.Challenge, v.Addresses = i18n.T(ctx, "partners.move.what-proof"), m.Challenge, partners.ChallengeAddresses(e, m)
		}
		offer(ctx, m, &v)
	}
	page := p.Page(c, i18n.T(ctx, "partners.move.title", e.Name))
	page.Crumbs = append(append(page.Crumbs, crumbs...), ui.Crumb{Label: i18n.T(ctx, "partners.move.crumb")})
	page.Badge, page.Invalid = ui.State(m.Status), r.Status != 0
	if site.Actor(c).Administrator {
		if err := p.NoteWaiting(ctx, &page, "endpoint", e.ID); err != nil {
			return err
		}
	}
	return p.Render(c, r.Code(), view.MovePage(page, v))
}

func destination(ctx context.Context, e store.Endpoint) []ui.Item {
	items := []ui.Item{{Label: i18n.T(ctx, "partners.mail.part-address"), Text: e.URL}}
	items = ui.TextItem(items, i18n.T(ctx, "partners.mail.part-token-address"), e.TokenURL)
	items = ui.TextItem(items, i18n.T(ctx, "partners.mail.part-token-method"), e.TokenAuthMethod)
	items = ui.TextItem(items, i18n.T(ctx, "partners.mail.part-token-client"), e.TokenClientID)
	items = ui.TextItem(items, i18n.T(ctx, "partners.mail.part-token-scope"), e.TokenScope)
	return ui.TextItem(items, i18n.T(ctx, "partners.mail.part-certificate"), partners.CertificateWords(e))
}

func (p *pages) moveFacts(ctx context.Context, m store.EndpointMove) []ui.Item {
	now := p.Cfg.Now()
	items := []ui.Item{{Label: i18n.T(ctx, "partners.move.asked-by"), Text: m.AskedName}}
	items = ui.ClockItem(items, i18n.T(ctx, "partners.move.asked-at"), m.AskedAt.Time, now)
	if m.Status == store.MoveWaiting {
		items = ui.ClockItem(items, i18n.T(ctx, "partners.move.until"), m.ExpiresAt.Time, now)
	}
	items = ui.ClockItem(items, i18n.T(ctx, "partners.move.tried-at"), m.TriedAt.Time, now)
	items = ui.TextItem(items, i18n.T(ctx, "partners.move.tried"), i18n.Message(m.Tried).In(ctx))
	items = ui.TextItem(items, i18n.T(ctx, "partners.move.decided-by"), m.DecidedName)
	items = ui.ClockItem(items, i18n.T(ctx, "partners.move.decided-at"), m.DecidedAt.Time, now)
	return ui.TextItem(items, i18n.T(ctx, "partners.move.why"), i18n.Message(m.Outcome).In(ctx))
}

// approvedBy names who approved a change that waits for a second person; empty while nobody did.
func (p *pages) approvedBy(ctx context.Context, m store.EndpointMove) (string, error) {
	if m.Mode != store.MoveApproval {
		return "", nil
	}
	rows, err := p.Registry.Confirmations.Waiting(ctx, "endpoint", m.EndpointID)
	for _, row := range rows {
		if row.Action == partners.ConfirmMove && row.Args == strconv.Quote(m.ID) {
			return row.AskedName, err
		}
	}
	return "", err
}

// endedMoveShown bounds how long the page of an endpoint shows a changed destination that came to nothing.
const endedMoveShown = 30 * 24 * time.Hour

// noteMove puts on the page of an endpoint that its changed destination waits, or that it was not taken over; base is the address of the endpoint.
func (p *pages) noteMove(ctx context.Context, page *ui.Page, e store.Endpoint, base string) error {
	m, ok, err := p.Registry.Endpoints.Move(ctx, registry.Scope{All: true}, e.ID)
	if err != nil || !ok {
		return err
	}
	note, ended := "", m.DecidedAt.Time
	switch m.Status {
	case store.MoveWaiting:
		if note, err = p.moveWaits(ctx, e, m); err != nil {
			return err
		}
		ended = p.Cfg.Now()
	case store.MoveDeclined:
		note = i18n.T(ctx, "partners.move.ended-declined", e.Name, m.AskedName, i18n.Message(m.Outcome).In(ctx))
	case store.MoveExpired:
		note, ended = i18n.T(ctx, "partners.move.ended-expired", e.Name, m.AskedName), m.ExpiresAt.Time
	}
	if note != "" && p.Cfg.Now().Sub(ended) < endedMoveShown && e.Status != store.EndpointEnded {
		page.Waits = append(page.Waits, ui.Named{Name: note, Href: base + "/move"})
	}
	return nil
}

func (p *pages) moveWaits(ctx context.Context, e store.Endpoint, m store.EndpointMove) (string, error) {
	if m.Mode == store.MoveProof {
		return i18n.T(ctx, "partners.move.waits-proof", e.Name, m.AskedName), nil
	}
	by, err := p.approvedBy(ctx, m)
	if by != "" {
		return i18n.T(ctx, "partners.move.waits-second", e.Name, m.AskedName), err
	}
	return i18n.T(ctx, "partners.move.waits-approval", e.Name, m.AskedName), err
}

// noteMoves lists on the page of all endpoints the changes that wait for approval.
func (p *pages) noteMoves(c echo.Context, page *ui.Page) error {
	ctx := c.Request().Context()
	moves, err := p.Registry.Endpoints.MovesToApprove(ctx, site.Actor(c))
	if err != nil {
		return err
	}
	for _, m := range moves {
		e, err := p.Registry.Endpoints.Get(ctx, registry.Scope{All: true}, m.EndpointID)
		if err != nil {
			return err
		}
		note, err := p.moveWaits(ctx, e, m)
		if err != nil {
			return err
		}
		page.Waits = append(page.Waits, ui.Named{Name: note, Href: "/admin/endpoints/" + e.ID + "/move"})
	}
	return nil
}

// movedOrSaved goes on after a change of an endpoint: to what waits of it, or to its page. What waited before is no news.
func (d ownerPages) movedOrSaved(c echo.Context, err error, id, before string) error {
	here := d.Href("/endpoints/" + id)
	if err == nil {
		m, ok, failed := d.Registry.Endpoints.Move(c.Request().Context(), site.Actor(c).Scope(), id)
		if failed != nil {
			return errors.Join(err, failed)
		}
		if ok && m.Status == store.MoveWaiting && m.ID != before {
			return d.Done(c, here+"/move", "partners.move.asked")
		}
	}
	return d.Settled(c, err, here, "partners.endpoint.saved")
}
