package amqp

import (
	"schakel/delivery/amqp"
	"schakel/delivery/amqp/message"
	"schakel/store"
	view "schakel/templates/amqp"
	"schakel/templates/ui"
	"schakel/web/site"
)

// amqpKinds are the kinds of messages, as people are told them.
func amqpKinds() []ui.Option {
	return []ui.Option{
		{Value: store.AMQPBusiness, Label: "Business message"},
		{Value: store.AMQPAppRec, Label: "AppRec"},
		{Value: store.AMQPError, Label: "AMQP error"},
		{Value: store.AMQPRequest, Label: "Synchronous request"},
		{Value: store.AMQPAnswer, Label: "Synchronous answer"},
		{Value: store.AMQPEvent, Label: "CloudEvent"},
	}
}

func amqpKind(kind string) string { return optionLabel(amqpKinds(), kind) }

// amqpStates are the states of messages, as people are told them.
func amqpStates() []ui.Option {
	return []ui.Option{
		{Value: store.AMQPSending, Label: "Being sent"},
		{Value: store.AMQPOpenMessage, Label: "Waits for its AppRec"},
		{Value: store.AMQPAcknowledged, Label: "Acknowledged"},
		{Value: store.AMQPPartly, Label: "Acknowledged, with errors in a part"},
		{Value: store.AMQPRejected, Label: "Rejected by its receiver"},
		{Value: amqpRejectedByUs, Label: "Rejected by us"},
		{Value: store.AMQPFailed, Label: "AMQP error came back"},
		{Value: store.AMQPUnsent, Label: "Not sent"},
		{Value: store.AMQPUnanswered, Label: "Not answered in time"},
		{Value: store.AMQPReplaced, Label: "Replaced by a resend"},
		{Value: store.AMQPDue, Label: "Still to be written"},
		{Value: store.AMQPSent, Label: "Written"},
		{Value: store.AMQPProcessed, Label: "Processed"},
		{Value: store.AMQPRefused, Label: "Refused with an AMQP error"},
		{Value: store.AMQPDuplicate, Label: "Duplicate"},
		{Value: store.AMQPMatched, Label: "Matched"},
		{Value: store.AMQPUnmatched, Label: "About a message we do not know"},
		{Value: store.AMQPUnchecked, Label: "Waits for a revocation check"},
		{Value: store.AMQPQuarantined, Label: "Quarantined"},
		{Value: store.AMQPHeld, Label: "Held: no recipient"},
		{Value: store.AMQPDead, Label: "Dead letter"},
		{Value: store.AMQPPutBack, Label: "Put back"},
		{Value: store.AMQPDropped, Label: "Dropped"},
	}
}

// amqpState shows the state of a message.
func amqpState(m store.AMQPMessage) view.Mark {
	mark := view.Mark{Kind: ui.KindNeutral, Text: optionLabel(amqpStates(), m.Status)}
	switch m.Status {
	case store.AMQPAcknowledged, store.AMQPProcessed, store.AMQPSent, store.AMQPMatched:
		mark.Kind = ui.KindOK
	case store.AMQPSending, store.AMQPOpenMessage:
		mark.Kind = ui.KindInfo
	case store.AMQPPartly, store.AMQPDue, store.AMQPUnmatched, store.AMQPDuplicate, store.AMQPUnsent, store.AMQPUnchecked:
		mark.Kind = ui.KindWarning
	case store.AMQPRejected, store.AMQPFailed, store.AMQPUnanswered, store.AMQPRefused, store.AMQPQuarantined, store.AMQPHeld, store.AMQPDead:
		mark.Kind = ui.KindError
	}
	switch {
	case m.Status == store.AMQPOpenMessage && !m.OverdueAt.IsZero():
		return view.Mark{Kind: ui.KindWarning, Text: "AppRec is overdue"}
	case m.Status == store.AMQPRejected && m.Direction == store.AMQPIn:
		mark.Text = optionLabel(amqpStates(), amqpRejectedByUs)
	}
	return mark
}

func optionLabel(options []ui.Option, value string) string {
	for _, o := range options {
		if o.Value == value {
			return o.Label
		}
	}
	return value
}

// amqpAbout explains the state of a message and the next step in a sentence.
func amqpAbout(m store.AMQPMessage) string {
	if m.Direction == store.AMQPIn {
		return amqpAboutIn(m)
	}
	switch m.Status {
	case store.AMQPSending:
		return "It is being written to the queue. When the connection broke meanwhile, it is written again with the same ids; the receiver knows it by them."
	case store.AMQPOpenMessage:
		if !m.OverdueAt.IsZero() {
			return "The broker has it, but no AppRec came in the time agreed. Ask the receiver; an identical message can be sent again once."
		}
		return "The broker has it. The receiver is responsible for it once its positive AppRec is here."
	case store.AMQPAcknowledged:
		return "The receiver acknowledged it, and is responsible for it now."
	case store.AMQPPartly:
		return "The receiver took it, but a part of it has errors; the AppRec names them. Publish a corrected message for that part."
	case store.AMQPRejected:
		return "The receiver read it and turned it down. The same message is not sent again: publish a corrected one with a MsgId of its own."
	case store.AMQPFailed:
		return "The receiver could not take it off its queue as it should be. Mend the cause, then send it again."
	case store.AMQPUnsent:
		return "It is on no queue. It goes out with the same ids when it is sent again."
	case store.AMQPUnanswered:
		return "No answer came within the time of a synchronous exchange. An answer that comes later is dropped."
	case store.AMQPReplaced:
		return "Another was sent in its place, under another messageId; look at that one."
	case store.AMQPDue:
		return "It is written as soon as the broker can be reached, and tried again by itself."
	case store.AMQPSent:
		return "The broker accepted it."
	}
	return ""
}

func amqpAboutIn(m store.AMQPMessage) string {
	switch m.Status {
	case store.AMQPProcessed:
		return "It was checked, kept as an event and acknowledged."
	case store.AMQPRejected:
		return "Its sender got a negative AppRec, and is to send a corrected message."
	case store.AMQPRefused:
		return "Its sender got an AMQP error on its error queue, and is to mend the cause and send it again."
	case store.AMQPDuplicate:
		return "It was handled before. It was dropped, and nothing was answered."
	case store.AMQPMatched:
		return "It is about a message of ours, whose state follows it."
	case store.AMQPUnmatched:
		return "It is about a message that is not known here. Ask its sender what it means."
	case store.AMQPUnchecked:
		return "Whether the certificate of its sender was revoked cannot be checked now. It is kept here as it came, and handled by itself once the issuer's validation server answers; its sender was told nothing."
	case store.AMQPQuarantined:
		if m.Kind == store.AMQPEvent {
			return "It was not accepted, and there is no queue on which to tell its sender. It is stored as received. Give the client of the party the right to send it, then reprocess it; or tell its sender, then drop it."
		}
		return "Its sender is not registered here, so nobody was answered. It is stored as received. Register the sender with its HER-id, then reprocess it; it is then answered as if it came in at that moment."
	case store.AMQPHeld:
		return "Nobody is subscribed to what it becomes. It is stored as received and has no AppRec: its sender remains responsible. It is delivered and acknowledged as soon as a subscription is approved."
	case store.AMQPDead:
		return "It was tried ten times without success, for reasons on our side; its sender was told nothing. Mend the cause, then put it back on its queue."
	case store.AMQPPutBack:
		return "It was put back on its queue as it was, and is handled anew."
	case store.AMQPDropped:
		return "It was taken out, or came too late to be of use."
	}
	return ""
}

// amqpSteps names the steps of a trace for people (AMQP-15).
func amqpStep(step string) string {
	words := map[string]string{
		"read": "Read from the queue", "kept": "Kept in the database", "answered": "Answered", "settled": "Taken off the queue",
		"read again": "Read again from the queue", "written": "Written to the queue", "unwritten": "Could not be written", "confirmed": "Confirmed",
		"overdue": "AppRec became overdue", "resent": "Sent again", "put back": "Put back on the queue", "dropped": "Dropped",
		"checked": "Checked and handled", "retried": "Tried at once", "answer refused": "The handler's answer was not sent: a SOAP fault took its place",
		"reprocessed": "Reprocessed", "not done": "Not done",
	}
	if text, ok := words[step]; ok {
		return text
	}
	return site.Capital(step)
}

// The sender of a message that came in has to do these.
const (
	senderResends   = "Its sender mends this and sends it again."
	senderCorrects  = "Its sender publishes a corrected message, with a MsgId of its own."
	senderRefetches = "Its sender fetches our certificate anew from the address registry and sends it again. Check that our newest one is registered there."
)

// rejectedByUs reports whether we rejected a message, or sent the answer that rejects it: its sender must mend the fault,
// not we.
func rejectedByUs(m store.AMQPMessage) bool {
	answer := m.Kind == store.AMQPAppRec || m.Kind == store.AMQPError || m.Kind == store.AMQPAnswer
	return answer == (m.Direction == store.AMQPOut)
}

// AMQPRemedy advises the reader, sender or receiver, about the reason of a message.
func AMQPRemedy(m store.AMQPMessage) string {
	if m.Status == store.AMQPReplaced {
		return "" // that was done
	}
	if !rejectedByUs(m) {
		return site.AMQPReasonOf(m.Reason).Remedy.String()
	}
	if m.Reason == store.AMQPOtherContent {
		return site.AMQPReasonOf(m.Reason).Remedy.String()
	}
	if m.Kind == store.AMQPEvent || m.Status == store.AMQPQuarantined || m.Reason == "" {
		return "" // the state gives the advice
	}
	if text, ok := receiverWords()[m.Reason]; ok {
		return text
	}
	if _, ok := site.AMQPErrorWords()[m.Reason]; ok {
		return senderResends
	}
	return senderCorrects
}

// receiverWords advises the receiver of a rejected message, where there is more to do than wait.
func receiverWords() map[string]string {
	return map[string]string{
		string(message.InvalidCertificate): senderRefetches,
		string(message.DecryptionFailed):   senderRefetches,
		string(message.ExpiredCertificate): "Its sender needs a certificate that is valid. Add that one at the party here too, or import it; then it is sent again.",
		string(message.RevokedCertificate): "Its sender needs a new certificate. Add that one at the party here too, or import it; then it is sent again.",
		string(message.InvalidSignature):   "Check that the newest certificate of its sender stands at the party here. If so, its sender mends it and sends it again.",
		string(message.SpoofingAttack):     "Find out with its sender why the HER-ids differ, before anything more of it is trusted.",
		string(message.UnsupportedMessage): "If this process should be taken: agree on it with its sender, add it to the party here, and ask to send it again.",
		amqp.ReasonNoRecipient:             "Approve a subscription of the own organisation to the event type that the process makes of it, then it is delivered by itself.",
		"E21":                              "Approve a subscription to the event type of the process, then ask its sender to publish it anew, with a MsgId of its own.",
		"E10":                              "Its sender corrects the receiver and publishes it anew, with a MsgId of its own. Check that the address registry has the right queue for our HER-id.",
	}
}
