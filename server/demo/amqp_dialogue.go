package demo

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Dialogue publishes made-up messages of both parties, as their systems would.
type Dialogue struct {
	Exchange *Exchange
	A, B     *Trickle // of the systems; they publish for the dialogue alone
	Every    time.Duration
	Log      *slog.Logger

	last string // the MsgId that B answers next
}

// step is one thing that happens in the dialogue.
type step func(ctx context.Context) error

// first does once what every page needs, so that every page has something to show; after that some of it happens now and then.
func (d *Dialogue) first() []step {
	return []step{d.message, d.answer, d.trial, d.tooLong, d.referral, d.question}
}

// rareAfter sets the number of steps between two faults.
const rareAfter = 20

// Run publishes until the context ends. What fails is logged and left behind.
func (d *Dialogue) Run(ctx context.Context) {
	tick := time.NewTicker(d.Every)
	defer tick.Stop()
	for n := 0; ; n++ {
		if err := d.next(n)(ctx); err != nil && ctx.Err() == nil {
			d.Log.WarnContext(ctx, "demo message not published", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// next gives the n-th step.
func (d *Dialogue) next(n int) step {
	if first := d.first(); n < len(first) {
		return first[n]
	}
	rare := []step{d.trial, d.tooLong, d.referral}
	usual := []step{d.message, d.answer, d.message, d.answer, d.question}
	if n%rareAfter == 0 {
		return rare[n/rareAfter%len(rare)]
	}
	return usual[n%len(usual)]
}

// message asks something of the second party, and gets its AppRec.
func (d *Dialogue) message(ctx context.Context) error {
	d.last = uuid.NewString()
	return d.publish(ctx, d.A, TypeMessageSent, d.toB(d.last, "May I come for a check-up this week?"))
}

// answer answers the last message, in its conversation.
func (d *Dialogue) answer(ctx context.Context) error {
	return d.publish(ctx, d.B, TypeMessageSent, letter{
		from: d.Exchange.PartyB, to: d.Exchange.PartyA, subject: subjectMessage, id: uuid.NewString(),
		text: "You may come on Thursday at ten.", answers: d.last,
	})
}

// trial sends what the second party has no process for: it is refused as an unsupported message (AMQP-100).
func (d *Dialogue) trial(ctx context.Context) error {
	l := d.toB(uuid.NewString(), "Does this arrive?")
	l.subject = subjectTrial
	return d.publish(ctx, d.A, TypeTrialSent, l)
}

// tooLong sends what the house rules of the second party refuse by a negative AppRec (AMQP-111).
func (d *Dialogue) tooLong(ctx context.Context) error {
	return d.publish(ctx, d.A, TypeMessageSent, d.toB(uuid.NewString(), strings.Repeat("There is a great deal to tell about this. ", 12)))
}

// referral sends what nobody answers, so that it is overdue (AMQP-89).
func (d *Dialogue) referral(ctx context.Context) error {
	return d.publish(ctx, d.A, TypeReferralSent, letter{
		from: d.Exchange.PartyA, to: d.Exchange.Quiet, subject: subjectReferral, id: uuid.NewString(), text: "Please see this patient.",
	})
}

// question asks something that is answered at once (AMQP-90).
func (d *Dialogue) question(ctx context.Context) error {
	l := d.toB(uuid.NewString(), "When is the desk open?")
	l.subject = subjectQuestion
	return d.publish(ctx, d.A, TypeQuestionAsked, l)
}

func (d *Dialogue) toB(id, text string) letter {
	return letter{from: d.Exchange.PartyA, to: d.Exchange.PartyB, subject: subjectMessage, id: id, text: text}
}

// publish publishes a message as an event of its sender's system.
func (d *Dialogue) publish(ctx context.Context, by *Trickle, eventType string, l letter) error {
	now := by.Now().UTC()
	document, err := l.write(now)
	if err != nil {
		return err
	}
	return by.Publish(ctx, map[string]any{
		"specversion": "1.0", "id": uuid.NewString(), "source": by.Own.Source(), "type": eventType, "time": now.Format(time.RFC3339),
		"datacontenttype": "application/xml", "data": string(document),
	})
}
