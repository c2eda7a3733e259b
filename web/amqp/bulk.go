package amqp

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

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

// amqpBulk is something that can be done with all messages of a list that it fits, with the keys of its texts: on the button for a
// number of messages, on that for more than were counted, and of what was asked.
type amqpBulk struct{ do, some, more, asked string }

func amqpBulks() []amqpBulk {
	return []amqpBulk{
		{amqp.OperationReprocess, "amqp.bulk.reprocess", "amqp.bulk.reprocess-more", "amqp.bulk.reprocess-asked"},
		{amqp.OperationPutBack, "amqp.bulk.put-back", "amqp.bulk.put-back-more", "amqp.bulk.put-back-asked"},
		{amqp.OperationResend, "amqp.bulk.resend", "amqp.bulk.resend-more", "amqp.bulk.resend-asked"},
		{amqp.OperationDrop, "amqp.bulk.discard", "amqp.bulk.discard-more", "amqp.bulk.discard-asked"},
	}
}

func (b amqpBulk) label(ctx context.Context, n int) string {
	if n > store.ListBound {
		return i18n.T(ctx, b.more, i18n.CountUpTo(ctx, n, store.ListBound))
	}
	return i18n.T(ctx, b.some, n)
}

// offerBulk puts the buttons for all messages of a list on its page, and counts those being worked on.
func (a AMQPArea) offerBulk(c echo.Context, f store.AMQPFilter, v *view.AMQPMessagesView) error {
	if !a.Admin || a.AMQP == nil {
		return nil
	}
	ctx, query := c.Request().Context(), c.Request().URL.Query()
	query.Del("page")
	asked := f
	asked.Asked = true
	var err error
	if v.Asked, err = a.DB.CountAMQPMessages(ctx, asked); err != nil {
		return err
	}
	for _, one := range amqpBulks() {
		n, err := a.DB.CountAMQPMessages(ctx, amqp.Narrow(f, one.do))
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		action := a.messages() + "/all/" + one.do + "?" + query.Encode()
		if one.do == amqp.OperationDrop {
			v.Drop = &ui.Danger{
				ID: "drop-all", Label: one.label(ctx, n), Button: one.label(ctx, n), Action: action,
				Explain:    i18n.T(ctx, "amqp.bulk.discard-explain"),
				ReasonName: "reason", ReasonLabel: i18n.T(ctx, "amqp.bulk.discard-why"),
			}
			continue
		}
		v.Bulk = append(v.Bulk, view.AMQPAct{Label: one.label(ctx, n), Action: action})
	}
	return nil
}

// actOnAll asks for something to be done with all messages of a list.
func (a AMQPArea) actOnAll(c echo.Context) error {
	back := a.messages()
	if raw := c.Request().URL.RawQuery; raw != "" {
		back += "?" + raw
	}
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(amqpBulks(), func(b amqpBulk) bool { return b.do == c.Param("do") })
	f, wrong := a.messageFilter(c)
	if i < 0 || len(wrong) > 0 {
		return store.ErrNotFound
	}
	if a.AMQP == nil {
		return a.refuse(c, back, a.whyNot(""))
	}
	do, reason := amqpBulks()[i], form.Get("reason")
	if do.do == amqp.OperationDrop {
		if text := site.ReasonError(reason); text != "" {
			saved, _, err := a.SavedFilters(c, a.messages())
			if err != nil {
				return err
			}
			return a.showMessages(c, saved, reason, text)
		}
	}
	var n int
	if do.do == amqp.OperationDrop {
		err = a.Discard(c.Request().Context(), site.Actor(c), a.dropAllOf(f, site.Clean(reason), &n))
	} else {
		n, err = a.AMQP.AskAll(c.Request().Context(), site.EngineActor(c), f, do.do, site.Clean(reason))
	}
	if err != nil {
		return err
	}
	return a.Done(c, back, i18n.M(do.asked, n))
}

// amqpActionRequest asks for something to be done with all messages of a filter.
type amqpActionRequest struct {
	Action    string `json:"action"`
	Status    string `json:"status"`
	Kind      string `json:"kind"`
	Direction string `json:"direction"`
	PartyID   string `json:"partyId"`
	HerID     string `json:"herId"`
	Reason    string `json:"reason"`
}

func (in amqpActionRequest) filter() (store.AMQPFilter, error) {
	for _, one := range []struct {
		name, value string
		words       []string
	}{
		{"action", in.Action, []string{amqp.OperationResend, amqp.OperationPutBack, amqp.OperationReprocess, amqp.OperationDrop}},
		{"status", in.Status, append(amqpChoices(), "")},
		{"kind", in.Kind, append(amqpKinds(), "")},
		{"direction", in.Direction, []string{store.AMQPIn, store.AMQPOut, ""}},
	} {
		if !slices.Contains(one.words, one.value) {
			return store.AMQPFilter{}, site.FieldProblem(one.name, i18n.M("amqp.messages.api-one-of", one.name, strings.Join(slices.DeleteFunc(one.words, func(w string) bool { return w == "" }), ", ")))
		}
	}
	f := store.AMQPFilter{Direction: in.Direction, PartyID: in.PartyID}
	if in.Kind != "" {
		f.Kinds = []string{in.Kind}
	}
	f, ok := ofHerID(ofState(f, in.Status), in.HerID)
	if !ok {
		return f, site.FieldProblem("herId", "amqp.messages.api-her-id-bad")
	}
	return f, nil
}

// postAMQPAll asks for something to be done with all messages of a filter, for whoever decides about them.
func (m *handlers) postAMQPAll(c echo.Context, who api.Caller) error {
	var in amqpActionRequest
	if err := api.ReadJSON(c, &in); err != nil {
		return err
	}
	if in.Reason = site.Clean(in.Reason); len(in.Reason) > site.MaxReasonBytes {
		return site.FieldProblem("reason", site.ReasonError(in.Reason))
	}
	f, err := in.filter()
	if err != nil {
		return err
	}
	if m.AMQP == nil {
		return site.NewProblem(http.StatusConflict, "conflict", WithoutBridge)
	}
	if in.Action == amqp.OperationDrop {
		if err := m.Registry.Confirmations.RefuseMachine(c.Request().Context(), registry.TwoDiscards); err != nil {
			return err
		}
	}
	n, err := m.AMQP.AskAll(c.Request().Context(), who.Decider(), f, in.Action, in.Reason)
	if errors.Is(err, outbox.ErrReasonMissing) {
		return amqpProblem(err)
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusAccepted, map[string]int{"asked": n})
}
