package amqp

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	"schakel/delivery/amqp"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/amqp"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/api"
	"schakel/web/site"
)

// amqpAct is one thing that an administrator can have done with a message.
type amqpAct struct {
	do   func(site.AMQPBridge, context.Context, outbox.Actor, string) error
	done i18n.Message
}

func resendAMQP() amqpAct {
	return amqpAct{site.AMQPBridge.Resend, "amqp.act.resent"}
}

func putBackAMQP() amqpAct {
	return amqpAct{site.AMQPBridge.PutBack, "amqp.act.back"}
}

func reprocessAMQP() amqpAct {
	return amqpAct{site.AMQPBridge.Reprocess, "amqp.act.reprocessed"}
}

func answerAMQP() amqpAct {
	return amqpAct{site.AMQPBridge.AnswerAgain, "amqp.act.answered"}
}

func retryAMQP() amqpAct {
	return amqpAct{site.AMQPBridge.Retry, "amqp.act.retried"}
}

// actOn does one of them and goes back to the message.
func (a AMQPArea) actOn(what func() amqpAct) echo.HandlerFunc {
	return func(c echo.Context) error {
		m, err := a.ownMessage(c)
		if err != nil {
			return err
		}
		if a.AMQP == nil {
			return a.refuse(c, a.message(m.ID), a.whyNot(""))
		}
		act := what()
		return a.acted(c, act.do(a.AMQP, c.Request().Context(), site.EngineActor(c), m.ID), m.ID, act.done)
	}
}

// dropMessage ends a message that waits for a person.
func (a AMQPArea) dropMessage(c echo.Context) error {
	m, err := a.ownMessage(c)
	if err != nil {
		return err
	}
	return site.WithReason(c, site.ReasonError, func(reason string) error {
		if a.AMQP == nil {
			return a.refuse(c, a.message(m.ID), a.whyNot(""))
		}
		return a.acted(c, a.Discard(c.Request().Context(), site.Actor(c), a.dropOf(m.ID, reason)), m.ID, "amqp.act.discarded")
	}, func(reason string, wrong i18n.Message) error { return a.showMessage(c, reason, wrong) })
}

// acted goes back to a message; why something was not done is told there.
func (a AMQPArea) acted(c echo.Context, err error, id string, text i18n.Message) error {
	if why, ok := errors.AsType[amqp.Refused](err); ok {
		return a.refuse(c, a.message(id), i18n.Message(why))
	}
	for _, known := range []error{outbox.ErrNotResendable, outbox.ErrEventExpired, outbox.ErrDataErased} {
		if errors.Is(err, known) {
			return a.refuse(c, a.message(id), site.Sentence(known))
		}
	}
	return a.Saved(c, err, a.message(id), text)
}

func (a AMQPArea) refuse(c echo.Context, href string, why i18n.Message) error {
	a.Flash(c, ui.KindWarning, why)
	return c.Redirect(http.StatusSeeOther, href)
}

// onItsWay finds the delivery of a message of ours that waits to be sent again, or is being sent; nil when there is none.
func (a AMQPArea) onItsWay(ctx context.Context, m store.AMQPMessage) *store.Delivery {
	waits := []string{store.AMQPFailed, store.AMQPUnsent, store.AMQPUnanswered}
	overdue := m.Status == store.AMQPOpenMessage && !m.OverdueAt.IsZero()
	if m.Direction != store.AMQPOut || m.DeliveryID == "" || !overdue && !slices.Contains(waits, m.Status) {
		return nil
	}
	d, err := a.DB.Delivery(ctx, m.DeliveryID)
	if err != nil || d.Status != store.DeliveryPending && d.Status != store.DeliveryRetrying {
		return nil // the message itself says enough
	}
	return &d
}

// stateNow shows the state of a message: one that is sent again is on its way until that is done.
func (a AMQPArea) stateNow(ctx context.Context, m store.AMQPMessage) view.Mark {
	if a.onItsWay(ctx, m) != nil {
		return view.Mark{Kind: ui.KindInfo, Text: i18n.T(ctx, "amqp.state.on-its-way")}
	}
	return amqpState(ctx, m)
}

// aboutNow is [amqpAbout] for a message that may be on its way.
func (a AMQPArea) aboutNow(ctx context.Context, m store.AMQPMessage) string {
	d := a.onItsWay(ctx, m)
	switch {
	case d == nil && !a.Admin && ours(m) && i18n.Has("amqp.about-partner", stateOf(m)):
		return i18n.Of(ctx, "amqp.about-partner", stateOf(m))
	case d == nil:
		return amqpAbout(ctx, m)
	case d.Status == store.DeliveryRetrying:
		return i18n.T(ctx, "amqp.about-out.retrying")
	}
	return i18n.T(ctx, "amqp.about-out.on-its-way")
}

// whyNotResent explains why a message cannot be sent again while it is on its way.
func (a AMQPArea) whyNotResent(ctx context.Context, m store.AMQPMessage, why i18n.Message) i18n.Message {
	if why == "" && a.onItsWay(ctx, m) != nil {
		return "amqp.act.on-its-way"
	}
	return why
}

// resentItems lead from a message to the one that was sent in its place, and to the one whose place it took.
func (a AMQPArea) resentItems(ctx context.Context, m store.AMQPMessage) ([]ui.Item, error) {
	if m.DeliveryID == "" || m.Direction != store.AMQPOut {
		return nil, nil
	}
	rows, err := a.DB.AMQPOfDelivery(ctx, m.DeliveryID)
	if err != nil {
		return nil, err
	}
	here := slices.IndexFunc(rows, func(one store.AMQPMessage) bool { return one.ID == m.ID })
	var items []ui.Item
	if here > 0 {
		items = append(items, ui.Item{Label: i18n.T(ctx, "amqp.message.resent-as"), Content: ui.Link(rows[here-1].MessageID, a.message(rows[here-1].ID))})
	}
	if here >= 0 && here+1 < len(rows) {
		items = append(items, ui.Item{Label: i18n.T(ctx, "amqp.message.in-place-of"), Content: ui.Link(rows[here+1].MessageID, a.message(rows[here+1].ID))})
	}
	return items, nil
}

// messageBody downloads the body of a message that came in and is stored: encrypted, as it came.
func (a AMQPArea) messageBody(c echo.Context) error {
	m, err := a.ownMessage(c)
	if err != nil {
		return err
	}
	if a.AMQP == nil {
		return a.refuse(c, a.message(m.ID), a.whyNot(""))
	}
	body, err := a.AMQP.Body(c.Request().Context(), site.EngineActor(c), m.ID)
	if errors.Is(err, store.ErrNotFound) {
		return a.refuse(c, a.message(m.ID), bodyNotStored)
	}
	if err != nil {
		return err
	}
	if err := a.Registry.Audit.NoteRead(c.Request().Context(), site.Actor(c), registry.ActionBodyDownloaded, bodyObject(m), nil); err != nil {
		return err
	}
	return serveBody(c, m.ID, body)
}

// getAMQPBody answers the body of a message that came in and is stored, to who decides about messages.
func (m *handlers) getAMQPBody(c echo.Context, who api.Caller) error {
	row, err := m.ownAMQPMessage(c, who)
	if err != nil {
		return err
	}
	if m.AMQP == nil {
		return site.NewProblem(http.StatusConflict, "conflict", WithoutBridge)
	}
	body, err := m.AMQP.Body(c.Request().Context(), who.Decider(), row.ID)
	if errors.Is(err, store.ErrNotFound) {
		return site.NewProblem(http.StatusConflict, "conflict", bodyNotStored)
	}
	if err != nil {
		return err
	}
	if err := m.Registry.Audit.NoteRead(c.Request().Context(), who.Actor(), registry.ActionBodyDownloaded, bodyObject(row), nil); err != nil {
		return err
	}
	return serveBody(c, row.ID, body)
}

// bodyObject names a message in the audit trail.
func bodyObject(m store.AMQPMessage) registry.Object {
	return registry.ObjectOf("amqp-message", m.ID, m.MessageID, m.PartnerID)
}

const bodyNotStored = i18n.Message("amqp.act.no-body")

func serveBody(c echo.Context, id string, body []byte) error {
	c.Response().Header().Set(echo.HeaderContentDisposition, `attachment; filename="`+id+`.p7m"`)
	return c.Blob(http.StatusOK, echo.MIMEOctetStream, body)
}
