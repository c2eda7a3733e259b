package registry

import (
	"context"
	"fmt"
	"strings"
	"time"

	"schakel/store"
)

// mailRate bounds the mails of one kind that one recipient gets, whoever causes them: a burst, and after that one every so often.
// Each kind has a count of its own, so that those of one kind keep none of another back.
type mailRate struct {
	name  string
	burst int64
	every time.Duration
	// patience is the longest that a mail waits for its turn; what would wait longer is held until an administrator sends it. 0: it waits.
	patience time.Duration
}

// The kinds. Those with a link that lets somebody in are few, and of those that anyone on the internet can cause, a flood is worth nothing to
// its recipient. Ordinary mails tell of what happened, each sort of them and those of each partner with a count of their own: what exceeds it
// arrives in a bundle, so that no partner keeps a warning back by causing others.
var (
	ordinaryMail = mailRate{name: "mail", burst: 60, every: time.Minute}
	accessMail   = mailRate{name: "mail-access", burst: 4, every: 15 * time.Minute, patience: 15 * time.Minute}
	anyonesMail  = mailRate{name: "mail-anyone", burst: 5, every: 10 * time.Minute, patience: 30 * time.Minute}
)

// LetsIn is the message as one with a link that lets its recipient in.
func (m Message) LetsIn() Message {
	m.rate = accessMail
	return m
}

// AnyoneCauses is the message as one that visitors cause who are not logged in.
func (m Message) AnyoneCauses() Message {
	m.rate = anyonesMail
	return m
}

// pace sets when a mail is sent, or holds it. The bucket keeps one instant: when the last mail of an even stream would be sent.
func (r mailRate) pace(ctx context.Context, tx *store.Tx, mail *store.Mail) error {
	t, err := tx.LockThrottle(ctx, r.bucket(mail.Recipient))
	if err != nil {
		return fmt.Errorf("read rate of mails: %w", err)
	}
	even, due := r.turn(t, tx.Now.Time)
	if r.patience > 0 && due.Sub(tx.Now.Time) > r.patience {
		mail.Status = store.MailHeld
		return nil
	}
	mail.DueAt = store.At(due)
	t.Failures, t.BlockedUntil = 1, store.At(even.Add(r.every))
	return Wrap("write rate of mails", tx.SaveThrottle(ctx, t))
}

// turn gives when the last mail of an even stream would be sent, and when the next of this one is.
func (r mailRate) turn(t store.Throttle, now time.Time) (even, due time.Time) {
	later := func(a, b time.Time) time.Time {
		if a.Before(b) {
			return b
		}
		return a
	}
	even = later(t.BlockedUntil.Time, now)
	return even, later(even.Add(-time.Duration(r.burst-1)*r.every), now)
}

// AccessMailWait returns how long the next mail with a link that lets its recipient in would wait. Who is not logged in gets none made
// meanwhile: the newer link would end the older, which is in the mailbox.
func AccessMailWait(ctx context.Context, tx *store.Tx, recipient string) (time.Duration, error) {
	t, err := tx.LockThrottle(ctx, accessMail.bucket(recipient))
	_, due := accessMail.turn(t, tx.Now.Time)
	return due.Sub(tx.Now.Time), Wrap("read rate of mails", err)
}

// bucket counts the addresses of a mailbox as one: most providers deliver what follows a plus sign to the same.
func (r mailRate) bucket(recipient string) string {
	local, domain, _ := strings.Cut(CleanEmail(recipient), "@")
	local, _, _ = strings.Cut(local, "+")
	return r.name + "-" + AccountBucket(local+"@"+domain)
}
