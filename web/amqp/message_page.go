package amqp

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
	"schakel/delivery/amqp"
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
	words := site.AMQPReasonOf(m.Reason)
	v := view.AMQPMessageView{
		State: a.stateNow(ctx, m), About: a.aboutNow(ctx, m), Code: m.Reason, Cause: words.Label.In(ctx), Remedy: AMQPRemedy(m), Detail: remark(m), Codes: m.Codes,
		Facts: a.messageFacts(ctx, c, m), IDs: messageIDs(m), Trace: traceMoments(traces), Now: a.Cfg.Now(),
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
	status, page := http.StatusOK, a.pageFrame(c, amqpKind(m.Kind)+" "+directionWord(m), ui.Crumb{Label: "Messages", Href: a.messages()})
	page.Badge = v.State.Badge()
	if wrong != "" {
		status, page.Invalid, v.Errors = http.StatusUnprocessableEntity, true, []ui.FieldError{{Field: "drop-reason", Text: wrong}}
	}
	return a.Render(c, status, view.AMQPMessagePage(page, v))
}

// remark returns the comment of the party or the bridge on a message, when it adds to the state.
func remark(m store.AMQPMessage) string {
	if strings.EqualFold(m.Detail, "ok") {
		return ""
	}
	return m.Detail
}

func directionWord(m store.AMQPMessage) string {
	if m.Direction == store.AMQPOut {
		return "from us"
	}
	return "to us"
}

// messageFacts lists the sender and the receiver of a message, and the messages and deliveries related to it.
func (a AMQPArea) messageFacts(ctx context.Context, c echo.Context, m store.AMQPMessage) []ui.Item {
	now := a.Cfg.Now()
	items := []ui.Item{
		{Label: "Kind", Text: amqpKind(m.Kind)},
		{Label: "Other side", Content: a.partyItem(ctx, c, m.PartyID, m.Her)},
		{Label: "Our side", Content: a.partyItem(ctx, c, m.OwnPartyID, m.OwnHer)},
		{Label: "Subject", Content: view.SubjectCode(m.Subject)},
		{Label: "Queue", Content: ui.Identifier(m.Queue)},
		{Label: "First seen", Content: ui.Clock(m.CreatedAt.Time, now)},
		{Label: "Last change", Content: ui.Clock(m.UpdatedAt.Time, now)},
	}
	if m.Status == store.AMQPOpenMessage && !m.DueAt.IsZero() {
		items = append(items, ui.Item{Label: "AppRec expected by", Content: ui.Clock(m.DueAt.Time, now)})
	}
	if m.Status == store.AMQPDue || m.Status == store.AMQPUnchecked {
		items = append(items, ui.Item{Label: "Next try", Content: ui.Clock(m.DueAt.Time, now)}, ui.Item{Label: "Tries", Text: strconv.FormatInt(m.Attempts, 10)})
	}
	if m.Resends > 0 {
		items = append(items, ui.Item{Label: "Sent again, identical", Text: ui.Plural(int(m.Resends), "time", "times")})
	}
	if m.EventID != "" && a.Admin {
		items = append(items, ui.Item{Label: "Event", Content: ui.Link("See the event", "/admin/events/"+m.EventID)})
	}
	if m.DeliveryID != "" {
		items = append(items, ui.Item{Label: "Delivery", Content: ui.Link("See the delivery", a.Delivery(m.DeliveryID))})
	}
	if m.Direction == store.AMQPIn && len(m.Encoded) > 0 && a.Admin {
		items = append(items, ui.Item{Label: "Content", Content: ui.Link("Download it, encrypted as it came", a.message(m.ID)+"/body")})
	}
	if m.ReferenceID != "" {
		items = append(items, ui.Item{Label: "Answers", Content: ui.Link("The message it is about", a.message(m.ReferenceID))})
	}
	return items
}

func (a AMQPArea) partyItem(ctx context.Context, c echo.Context, id string, her int64) templ.Component {
	text := "HER-id " + strconv.FormatInt(her, 10)
	named := a.partyName(ctx, c, id)
	switch {
	case named.Href == "" && her == 0:
		return ui.Text("unknown")
	case named.Href == "":
		return ui.Text(text)
	case her > 0:
		named.Name += " (" + text + ")"
	}
	return ui.Link(named.Name, named.Href)
}

func messageIDs(m store.AMQPMessage) []ui.Item {
	var items []ui.Item
	for _, id := range []struct{ label, value string }{
		{"messageId", m.MessageID}, {"MsgId", m.MsgID}, {"correlationId", m.CorrelationID}, {"ConversationId", m.ConversationID}, {"Id here", m.ID},
	} {
		if id.value != "" {
			items = append(items, ui.Item{Label: id.label, Content: ui.Identifier(id.value)})
		}
	}
	return items
}

// traceMoments lists the steps of a message with actor and time, the last first.
func traceMoments(traces []store.AMQPTrace) []ui.Moment {
	var list []ui.Moment
	for i := len(traces) - 1; i >= 0; i-- {
		t := traces[i]
		m := ui.Moment{At: t.At.Time, Kind: ui.KindInfo, Title: amqpStep(t.Step), Text: t.Detail}
		switch t.Step {
		case "unwritten", "overdue", "read again", "answer refused":
			m.Kind = ui.KindWarning
		case "settled", "written", "confirmed":
			m.Kind = ui.KindOK
		}
		switch {
		case t.Node != "" && t.Detail != "":
			m.Text += " (on " + t.Node + ")"
		case t.Node != "":
			m.Text = "On " + t.Node
		}
		list = append(list, m)
	}
	return list
}

// offer puts the buttons on the page. One that is not allowed says why.
func (a AMQPArea) offer(ctx context.Context, v *view.AMQPMessageView, m store.AMQPMessage, answers []store.AMQPMessage, reason string, wrong i18n.Message) {
	here := a.message(m.ID)
	if m.Direction == store.AMQPOut && (m.Kind == store.AMQPBusiness || m.Kind == store.AMQPRequest) {
		v.Acts = append(v.Acts, view.AMQPAct{Label: "Resend", Action: here + "/resend", WhyNot: a.whyNot(a.whyNotResent(ctx, m, amqp.MayResend(m, a.Cfg.Now())))})
	}
	if m.Direction == store.AMQPIn && m.Kind == store.AMQPBusiness && (m.Status == store.AMQPProcessed || m.Status == store.AMQPRejected) {
		v.Acts = append(v.Acts, view.AMQPAct{Label: "Send the AppRec again", Action: here + "/answer", WhyNot: a.whyNot(whyNoAnswer(answers))})
	}
	if m.Status == store.AMQPUnchecked || answerWaits(m) {
		v.Acts = append(v.Acts, view.AMQPAct{Label: "Try now", Action: here + "/retry", WhyNot: a.whyNot("")})
	}
	if m.Status == store.AMQPDead {
		v.Acts = append(v.Acts, view.AMQPAct{Label: "Put back on its queue", Action: here + "/put-back", WhyNot: a.whyNot("")})
	}
	if m.Status == store.AMQPQuarantined || m.Status == store.AMQPHeld {
		v.Acts = append(v.Acts, view.AMQPAct{Label: "Reprocess this message", Action: here + "/reprocess", WhyNot: a.whyNot(whyNotReprocessed(m))})
	}
	if amqp.MayDrop(m) || answerWaits(m) || otherContent(m) || wrong != "" {
		explain := "It is never handled, and its content is erased here. Its sender is told nothing by us, so tell it yourself."
		switch {
		case answerWaits(m):
			explain = "It is not tried any more. Its receiver does not learn from us what became of its message, so tell it yourself."
		case m.Direction == store.AMQPOut:
			explain = "It is closed and not sent again; its delivery is discarded too. Its receiver is told nothing."
		}
		v.Drop = &ui.Danger{
			ID: "drop", Label: "Drop this message", Button: "Drop", Action: here + "/drop",
			Explain:    explain,
			ReasonName: "reason", ReasonLabel: "Why is it dropped?", ReasonValue: reason, ReasonError: wrong,
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
func whyNotReprocessed(m store.AMQPMessage) string {
	switch {
	case len(m.Encoded) == 0:
		return "Its content was not stored: an older version of the program read it. Ask its sender to send it again."
	case m.Kind == store.AMQPRequest:
		return "The sender of a synchronous request waits for seconds only; it asks again."
	}
	return ""
}

func (a AMQPArea) whyNot(why string) string {
	if why == "" && a.AMQP == nil {
		return WithoutBridge
	}
	return why
}

// WithoutBridge explains why nothing can be decided where the program has no bridge.
const WithoutBridge = "This program runs without the bridge to message brokers."

// whyNoAnswer explains why no AppRec of ours can be sent again (INC-23).
func whyNoAnswer(answers []store.AMQPMessage) string {
	for _, one := range answers {
		if one.Kind != store.AMQPAppRec {
			continue
		}
		if one.Status == store.AMQPSent {
			return ""
		}
		return "Its AppRec was not sent yet; that is tried by itself."
	}
	return "There is no AppRec of ours to this message."
}
