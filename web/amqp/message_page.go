package amqp

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
	"schakel/delivery/amqp"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/amqp"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// messagePage shows one message: what became of it, why, and what can be done.
func (a AMQPArea) messagePage(c echo.Context) error { return a.showMessage(c, "", "") }

// ownMessage finds a message that the reader may see; another's is not found (guarantee G7).
func (a AMQPArea) ownMessage(c echo.Context) (store.AMQPMessage, error) {
	m, err := a.DB.AMQPMessage(c.Request().Context(), c.Param("id"))
	if err == nil && !a.Admin && m.PartnerID != a.Scope(c) {
		return store.AMQPMessage{}, store.ErrNotFound
	}
	return m, err
}

// showMessage draws the page; reason and wrong are of a drop that was refused.
func (a AMQPArea) showMessage(c echo.Context, reason string, wrong i18n.Message) error {
	ctx := c.Request().Context()
	m, err := a.ownMessage(c)
	if err != nil {
		return err
	}
	answers, err := a.DB.AMQPAnswersTo(ctx, m.ID)
	if err != nil {
		return err
	}
	traces, err := a.DB.AMQPTraces(ctx, m.ID)
	if err != nil {
		return err
	}
	cause := site.AMQPReasonOf(m.Reason).Label
	v := view.AMQPMessageView{
		State: a.stateNow(ctx, m), About: a.aboutNow(ctx, m), Code: m.Reason, Cause: cause.In(ctx), Remedy: AMQPRemedy(m).In(ctx), Detail: remark(ctx, m), Codes: m.Codes,
		Facts: a.messageFacts(ctx, c, m), IDs: messageIDs(ctx, m), Trace: traceMoments(ctx, traces), Now: a.Cfg.Now(),
	}
	if !a.Admin && ours(m) && m.Reason != "" && m.Status != store.AMQPReplaced {
		v.Remedy = registry.IssueAdvice(m.Reason, false).In(ctx)
	}
	resent, err := a.resentItems(ctx, m)
	if err != nil {
		return err
	}
	v.Facts = append(v.Facts, resent...)
	if len(v.Codes) == 1 && v.Codes[0] == v.Code {
		v.Codes = nil
	}
	for _, one := range answers {
		v.Answers = append(v.Answers, a.messageRow(c, one))
	}
	if a.Admin {
		a.offer(ctx, &v, m, answers, reason, wrong)
		if v.History, err = a.History(ctx, store.AuditFilter{ObjectKind: "amqp-message", ObjectID: m.ID}, ""); err != nil {
			return err
		}
	}
	status, page := http.StatusOK, a.pageFrame(c, messageTitle(ctx, m), ui.Crumb{Label: i18n.T(ctx, "amqp.messages.caption"), Href: a.messages()})
	if a.Admin {
		if err := a.NoteWaiting(ctx, &page, "amqp-message", m.ID); err != nil {
			return err
		}
	}
	page.Badge = v.State.Badge()
	if wrong != "" {
		status, page.Invalid, v.Errors = http.StatusUnprocessableEntity, true, []ui.FieldError{{Field: "drop-reason", Text: wrong}}
	}
	return a.Render(c, status, view.AMQPMessagePage(page, v))
}

// remark returns the comment of the party or the bridge on a message, when it adds to the state.
func remark(ctx context.Context, m store.AMQPMessage) string {
	if strings.EqualFold(m.Detail, "ok") {
		return ""
	}
	return i18n.Message(m.Detail).In(ctx)
}

func messageTitle(ctx context.Context, m store.AMQPMessage) string {
	if m.Direction == store.AMQPOut {
		return i18n.Of(ctx, "amqp.title-out", m.Kind)
	}
	return i18n.Of(ctx, "amqp.title-in", m.Kind)
}

// messageFacts lists the sender and the receiver of a message, and the messages and deliveries related to it.
func (a AMQPArea) messageFacts(ctx context.Context, c echo.Context, m store.AMQPMessage) []ui.Item {
	now := a.Cfg.Now()
	items := []ui.Item{
		{Label: i18n.T(ctx, "amqp.label.kind"), Text: i18n.Of(ctx, "amqp.kind", m.Kind)},
		{Label: i18n.T(ctx, "amqp.label.party"), Content: a.partyItem(ctx, c, m.PartyID, m.Her)},
		{Label: i18n.T(ctx, "amqp.message.own-party"), Content: a.partyItem(ctx, c, m.OwnPartyID, m.OwnHer)},
		{Label: i18n.T(ctx, "amqp.label.subject"), Content: view.SubjectCode(m.Subject)},
		{Label: i18n.T(ctx, "amqp.message.queue"), Content: ui.Identifier(m.Queue)},
		{Label: i18n.T(ctx, "amqp.message.first-seen"), Content: ui.Clock(m.CreatedAt.Time, now)},
		{Label: i18n.T(ctx, "amqp.message.last-change"), Content: ui.Clock(m.UpdatedAt.Time, now)},
	}
	if m.Status == store.AMQPOpenMessage && !m.DueAt.IsZero() {
		items = append(items, ui.Item{Label: i18n.T(ctx, "amqp.message.due"), Content: ui.Clock(m.DueAt.Time, now)})
	}
	if m.Status == store.AMQPDue || m.Status == store.AMQPUnchecked {
		items = append(items,
			ui.Item{Label: i18n.T(ctx, "amqp.message.next-attempt"), Content: ui.Clock(m.DueAt.Time, now)},
			ui.Item{Label: i18n.T(ctx, "amqp.message.attempts"), Text: i18n.Count(ctx, int(m.Attempts))})
	}
	if m.Resends > 0 {
		items = append(items, ui.Item{Label: i18n.T(ctx, "amqp.message.resent"), Text: i18n.T(ctx, "amqp.message.times", m.Resends)})
	}
	if m.EventID != "" && a.Admin {
		items = append(items, ui.Item{Label: i18n.T(ctx, "amqp.message.event"), Content: ui.Link(i18n.T(ctx, "amqp.message.see-event"), "/admin/events/"+m.EventID)})
	}
	if m.DeliveryID != "" {
		items = append(items, ui.Item{Label: i18n.T(ctx, "amqp.message.delivery"), Content: ui.Link(i18n.T(ctx, "amqp.message.see-delivery"), a.Delivery(m.DeliveryID))})
	}
	if m.Direction == store.AMQPIn && len(m.Encoded) > 0 && a.Admin {
		items = append(items, ui.Item{Label: i18n.T(ctx, "amqp.message.content"), Content: ui.Link(i18n.T(ctx, "amqp.message.download"), a.message(m.ID)+"/body")})
	}
	if m.ReferenceID != "" {
		items = append(items, ui.Item{Label: i18n.T(ctx, "amqp.message.answers-to"), Content: ui.Link(i18n.T(ctx, "amqp.message.see-original"), a.message(m.ReferenceID))})
	}
	return items
}

func (a AMQPArea) partyItem(ctx context.Context, c echo.Context, id string, her int64) templ.Component {
	number := strconv.FormatInt(her, 10)
	named := a.partyName(ctx, c, id)
	switch {
	case named.Href == "" && her == 0:
		return ui.Text(i18n.T(ctx, "amqp.unknown"))
	case named.Href == "":
		return ui.Text(i18n.T(ctx, "amqp.her-id-named", number))
	case her > 0:
		named.Name = i18n.T(ctx, "amqp.party-with-her-id", named.Name, number)
	}
	return ui.Link(named.Name, named.Href)
}

func messageIDs(ctx context.Context, m store.AMQPMessage) []ui.Item {
	var items []ui.Item
	for _, id := range []struct{ label, value string }{
		{"messageId", m.MessageID}, {"MsgId", m.MsgID}, {"correlationId", m.CorrelationID}, {"ConversationId", m.ConversationID}, {i18n.T(ctx, "amqp.message.own-id"), m.ID},
	} {
		if id.value != "" {
			items = append(items, ui.Item{Label: id.label, Content: ui.Identifier(id.value)})
		}
	}
	return items
}

// traceMoments lists the steps of a message with actor and time, the last first.
func traceMoments(ctx context.Context, traces []store.AMQPTrace) []ui.Moment {
	var list []ui.Moment
	for i := len(traces) - 1; i >= 0; i-- {
		t := traces[i]
		m := ui.Moment{At: t.At.Time, Kind: ui.KindInfo, Title: amqpStep(ctx, t.Step), Text: i18n.Message(t.Detail).In(ctx)}
		switch t.Step {
		case "unwritten", "overdue", "read again", "answer refused":
			m.Kind = ui.KindWarning
		case "settled", "written", "confirmed":
			m.Kind = ui.KindOK
		}
		switch {
		case t.Node != "" && t.Detail != "":
			m.Text = i18n.T(ctx, "amqp.trace.detail-on-node", i18n.Message(t.Detail), t.Node)
		case t.Node != "":
			m.Text = i18n.T(ctx, "amqp.trace.on-node", t.Node)
		}
		list = append(list, m)
	}
	return list
}

// offer puts the buttons on the page. One that is not allowed says why.
func (a AMQPArea) offer(ctx context.Context, v *view.AMQPMessageView, m store.AMQPMessage, answers []store.AMQPMessage, reason string, wrong i18n.Message) {
	here := a.message(m.ID)
	if m.Direction == store.AMQPOut && (m.Kind == store.AMQPBusiness || m.Kind == store.AMQPRequest) {
		v.Acts = append(v.Acts, view.AMQPAct{Label: i18n.T(ctx, "amqp.act.resend"), Action: here + "/resend", WhyNot: a.whyNot(a.whyNotResent(ctx, m, amqp.MayResend(m, a.Cfg.Now()))).In(ctx)})
	}
	if m.Direction == store.AMQPIn && m.Kind == store.AMQPBusiness && (m.Status == store.AMQPProcessed || m.Status == store.AMQPRejected) {
		v.Acts = append(v.Acts, view.AMQPAct{Label: i18n.T(ctx, "amqp.act.answer"), Action: here + "/answer", WhyNot: a.whyNot(whyNoAnswer(answers)).In(ctx)})
	}
	if m.Status == store.AMQPUnchecked || answerWaits(m) {
		v.Acts = append(v.Acts, view.AMQPAct{Label: i18n.T(ctx, "amqp.act.retry"), Action: here + "/retry", WhyNot: a.whyNot("").In(ctx)})
	}
	if m.Status == store.AMQPDead {
		v.Acts = append(v.Acts, view.AMQPAct{Label: i18n.T(ctx, "amqp.act.put-back"), Action: here + "/put-back", WhyNot: a.whyNot("").In(ctx)})
	}
	if m.Status == store.AMQPQuarantined || m.Status == store.AMQPHeld {
		v.Acts = append(v.Acts, view.AMQPAct{Label: i18n.T(ctx, "amqp.act.reprocess"), Action: here + "/reprocess", WhyNot: a.whyNot(whyNotReprocessed(m)).In(ctx)})
	}
	if amqp.MayDrop(m) || answerWaits(m) || otherContent(m) || wrong != "" {
		explain := i18n.T(ctx, "amqp.act.discard-in")
		switch {
		case answerWaits(m):
			explain = i18n.T(ctx, "amqp.act.discard-answer")
		case m.Direction == store.AMQPOut:
			explain = i18n.T(ctx, "amqp.act.discard-out")
		}
		v.Drop = &ui.Danger{
			ID: "drop", Label: i18n.T(ctx, "amqp.act.discard"), Button: i18n.T(ctx, "amqp.act.discard-button"), Action: here + "/drop",
			Explain:    explain,
			ReasonName: "reason", ReasonLabel: i18n.T(ctx, "amqp.act.discard-why"), ReasonValue: reason, ReasonError: wrong,
		}
	}
}

// otherContent reports whether a message came under a MsgId that was used for other content.
func otherContent(m store.AMQPMessage) bool {
	return m.Status == store.AMQPDuplicate && m.Reason == store.AMQPOtherContent
}

// answerWaits reports whether an answer of ours is not on its queue.
func answerWaits(m store.AMQPMessage) bool {
	return m.Direction == store.AMQPOut && (m.Kind == store.AMQPAppRec || m.Kind == store.AMQPError) && (m.Status == store.AMQPDue || m.Status == store.AMQPUnsent)
}

// whyNotReprocessed explains why there is nothing to handle again.
func whyNotReprocessed(m store.AMQPMessage) i18n.Message {
	switch {
	case len(m.Encoded) == 0:
		return "amqp.act.no-content"
	case m.Kind == store.AMQPRequest:
		return "amqp.act.request-over"
	}
	return ""
}

func (a AMQPArea) whyNot(why i18n.Message) i18n.Message {
	if why == "" && a.AMQP == nil {
		return WithoutBridge
	}
	return why
}

// WithoutBridge explains why nothing can be decided where the program has no bridge.
const WithoutBridge = i18n.Message("amqp.act.no-bridge")

// whyNoAnswer explains why no AppRec of ours can be sent again (INC-23).
func whyNoAnswer(answers []store.AMQPMessage) i18n.Message {
	for _, one := range answers {
		if one.Kind != store.AMQPAppRec {
			continue
		}
		if one.Status == store.AMQPSent {
			return ""
		}
		return "amqp.act.apprec-unsent"
	}
	return "amqp.act.no-apprec"
}
