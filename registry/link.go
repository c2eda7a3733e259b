package registry

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"schakel/store"
	"schakel/templates/i18n"
)

// LinkPurpose names the one use of a one-time link.
type LinkPurpose string

// The purposes of one-time links. The subject of a setup link is fixed, of a
// confirmation a partner id, of one that resumes a registration the id of its draft, of the others an account id.
const (
	LinkSetup        LinkPurpose = "setup"
	LinkInvitation   LinkPurpose = "invitation"
	LinkReset        LinkPurpose = "password-reset"
	LinkConfirmEmail LinkPurpose = "confirm-email"
	LinkResume       LinkPurpose = "resume-registration"
)

// DraftLifetime bounds the life of a registration that somebody has begun, from when it was saved last.
const DraftLifetime = 14 * 24 * time.Hour

// Lifetime returns the time after which a link of this purpose expires.
func (p LinkPurpose) Lifetime() time.Duration {
	switch p {
	case LinkReset:
		return time.Hour
	case LinkSetup, LinkConfirmEmail:
		return 24 * time.Hour
	case LinkResume:
		return DraftLifetime
	default:
		return 7 * 24 * time.Hour
	}
}

// Path returns the page of the portal that the link opens.
func (p LinkPurpose) Path(token string) string {
	switch p {
	case LinkSetup:
		return "/setup/" + token
	case LinkConfirmEmail:
		return "/register/confirm/" + token
	case LinkResume:
		return "/register/resume/" + token
	default:
		return "/account/" + string(p) + "/" + token
	}
}

// ErrLinkDead says that a one-time link was used, has expired or never was.
var ErrLinkDead = errors.New("one-time link does not work any more")

// NewLink makes a one-time link and returns its token. Only a hash is stored;
// older links of the same purpose and subject stop working.
func NewLink(ctx context.Context, tx *store.Tx, purpose LinkPurpose, subject string) (string, error) {
	token := rand.Text() // 128 bits
	expires := store.At(tx.Now.Add(purpose.Lifetime()))
	if err := tx.InsertLink(ctx, linkHash(token), string(purpose), subject, expires); err != nil {
		return "", fmt.Errorf("add one-time link: %w", err)
	}
	return token, nil
}

// UseLink uses a link up in the transaction that does what it is for, and tells
// its subject. It answers ErrLinkDead for one that does not work (any more).
func UseLink(ctx context.Context, tx *store.Tx, purpose LinkPurpose, token string) (string, error) {
	subject, err := tx.UseLink(ctx, linkHash(token), string(purpose))
	return subject, linkError(err)
}

// EndPasswordLinks ends the links with which the owner of an account would choose a password: what lies in a mailbox must not undo a
// newer decision about the account.
func EndPasswordLinks(ctx context.Context, tx *store.Tx, account string) error {
	for _, purpose := range []LinkPurpose{LinkInvitation, LinkReset} {
		if err := tx.RevokeLinks(ctx, string(purpose), account); err != nil {
			return fmt.Errorf("end one-time links: %w", err)
		}
	}
	return nil
}

// LinkSubject returns the subject of a link without using it up, or ErrLinkDead.
func LinkSubject(ctx context.Context, db *store.DB, purpose LinkPurpose, token string, now time.Time) (string, error) {
	subject, err := db.LinkSubject(ctx, linkHash(token), string(purpose), store.At(now))
	return subject, linkError(err)
}

func linkError(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return ErrLinkDead
	}
	return Wrap("look up one-time link", err)
}

// linkHash needs no salt or slow hash: a token is too random to be guessed from it.
func linkHash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// MailInvitation makes the mail with which an actor invites somebody in a role.
func (c Config) MailInvitation(actor Actor, role, token string) Message {
	return c.Letter(i18n.M("mail.invitation.subject", c.Organisation), LinkInvitation.Path(token),
		i18n.M("mail.invitation.by", actor.Label(), c.Organisation, i18n.Word("registry.role", role)), "mail.invitation.link").LetsIn()
}

// MailPassword makes the mail with a link to choose a password.
func (c Config) MailPassword(purpose LinkPurpose, token string) Message {
	if purpose == LinkInvitation {
		return c.Letter(i18n.M("mail.invitation.subject", c.Organisation), purpose.Path(token), i18n.M("mail.invitation.text", c.Organisation)).LetsIn()
	}
	return c.Letter("mail.password.subject", purpose.Path(token), i18n.M("mail.password.text", c.Organisation)).LetsIn()
}
