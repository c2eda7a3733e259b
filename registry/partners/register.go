package partners

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// Registration holds the input of a visitor about its organisation.
type Registration struct {
	Name string
	// OIN may be empty for an organisation that gives an OrgNumber and a HerID.
	OIN        string
	KVK, HerID string // may be empty
	// OrgNumber is the organisasjonsnummer of a Norwegian organisation; empty for others.
	OrgNumber string
	// BRIN is the number of a school; empty for others.
	BRIN string
	// By is the number the organisation is known by, one of KnownBy: the others are left out, but the KvK number beside an OIN. Empty is
	// the one that is given.
	By            string
	Contact       Contact
	EndpointKinds []string  // how it wants to receive
	Language      i18n.Lang // of the pages it was filled in on; mails and pages keep it until the account chooses another
	TermsAccepted bool
	TermsVersion  string // which terms it was shown
	Addr          string // address of the browser, for the throttle
}

// How many registrations one address may send in a period.
const (
	registrationsPerPeriod = 10
	registrationPeriod     = time.Hour
)

// TermsVersion is the version of the terms to show to who registers.
func (p *Partners) TermsVersion() string { return p.cfg.TermsVersion }

// Register takes a registration in and mails a link with which the e-mail address is confirmed and a password chosen. What is
// wrong is an *Error with fields name, oin, kvk, brin, orgNumber, herId, contactName, email, phone, endpointKinds and terms, or a
// *ThrottledError.
//
// It answers the same when the e-mail address or the number is registered already: who
// has the mailbox reads that there, and a stranger learns nothing.
func (p *Partners) Register(ctx context.Context, in Registration) error {
	in = in.clean()
	if err := in.check(p.cfg.TermsVersion).Err(); err != nil {
		return err
	}
	if err := p.admitRegistration(ctx, in.Addr); err != nil {
		return err
	}
	err := p.register(ctx, in)
	if errors.Is(err, store.ErrConflict) {
		// Another registration of this number or address was first; now it is seen.
		err = p.register(ctx, in)
	}
	return registry.Wrap("register partner", err)
}

func (p *Partners) register(ctx context.Context, in Registration) error {
	return p.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		account, err := tx.AccountByEmail(ctx, in.Contact.Email)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		partner, again, err := unconfirmedOf(ctx, tx, account)
		if err != nil {
			return err
		}
		if account.ID != "" && !again {
			return p.cfg.Mail(ctx, tx, in.Contact.Email, mailAccountExists(p.cfg))
		}
		if _, number, err := numberTaken(ctx, tx, in, partner.ID); err != nil || number != "" {
			return errors.Join(err, p.cfg.Mail(ctx, tx, in.Contact.Email, mailNumberExists(p.cfg, number).Unless(in.Language)))
		}
		before := partner
		in.fill(&partner, tx.Now)
		if again {
			account.Name, account.Language = partner.ContactName, string(in.Language)
			err := errors.Join(tx.UpdateAccount(ctx, &account), tx.UpdatePartner(ctx, &partner),
				recordAgain(ctx, tx, before, partner))
			return p.confirmation(ctx, tx, partner, err)
		}
		return p.insertRegistration(ctx, tx, partner, in.Language)
	})
}

func (p *Partners) insertRegistration(ctx context.Context, tx *store.Tx, partner store.Partner, language i18n.Lang) error {
	if err := tx.InsertPartner(ctx, &partner); err != nil {
		return err
	}
	account := store.Account{
		Email: partner.ContactEmail, Name: partner.ContactName, Role: store.RoleManager,
		PartnerID: partner.ID, Status: store.AccountInvited, Language: string(language),
	}
	if err := tx.InsertAccount(ctx, &account); err != nil {
		return err
	}
	visitor := registry.Actor{Kind: registry.ActorVisitor, Name: partner.ContactName}
	err := registry.Record(ctx, tx, visitor, registry.ActionPartnerRegistered, partnerObject(partner), nil)
	return p.confirmation(ctx, tx, partner, err)
}

// recordAgain records in the audit trail that a registration was replaced before its address was confirmed: anyone who knows the address
// can do that.
func recordAgain(ctx context.Context, tx *store.Tx, before, after store.Partner) error {
	visitor := registry.Actor{Kind: registry.ActorVisitor, Name: after.ContactName}
	changes := corrections(before, after)
	if len(changes) == 0 {
		return registry.Record(ctx, tx, visitor, registry.ActionPartnerRegistered, partnerObject(after), nil)
	}
	return registry.Record(ctx, tx, visitor, registry.ActionPartnerAgain, partnerObject(after), registry.Details{"changes": changes})
}

// confirmation mails the link that confirms an address, unless err.
func (p *Partners) confirmation(ctx context.Context, tx *store.Tx, partner store.Partner, err error) error {
	if err != nil {
		return err
	}
	token, err := registry.NewLink(ctx, tx, registry.LinkConfirmEmail, partner.ID)
	if err != nil {
		return err
	}
	return p.cfg.Mail(ctx, tx, partner.ContactEmail, mailConfirm(p.cfg, partner, token))
}

// unconfirmedOf finds the registration an account made without ever confirming
// it: who registers again then replaces it and gets a new link.
func unconfirmedOf(ctx context.Context, tx *store.Tx, account store.Account) (store.Partner, bool, error) {
	if account.Status != store.AccountInvited || account.PartnerID == "" {
		return store.Partner{}, false, nil
	}
	partner, err := tx.Partner(ctx, account.PartnerID)
	if err != nil {
		return partner, false, err
	}
	open := partner.Status == store.PartnerRequested || partner.Status == store.PartnerRejected
	if open && partner.EmailConfirmedAt.IsZero() && partner.ContactEmail == account.Email {
		return partner, true, nil
	}
	return store.Partner{}, false, nil
}

// numberTaken names the number of a registration that another open one has, and its field; "" when none does. A KvK number is the
// organisation's own only where it is known by no other.
func numberTaken(ctx context.Context, tx *store.Tx, in Registration, except string) (field, number string, err error) {
	alone := ""
	if in.OIN == "" && in.OrgNumber == "" && in.BRIN == "" {
		alone = in.KVK
	}
	for _, n := range []struct {
		field, label, number string
		find                 func(context.Context, string) (store.Partner, error)
	}{
		{"oin", "OIN", in.OIN, tx.PartnerByOIN},
		{"orgNumber", "organisasjonsnummer", in.OrgNumber, tx.PartnerByOrgNumber},
		{"brin", "BRIN", in.BRIN, tx.PartnerByBRIN},
		{"kvk", "KvK", alone, func(ctx context.Context, kvk string) (store.Partner, error) { return tx.PartnerByKVK(ctx, kvk, except) }},
	} {
		other, err := n.find(ctx, n.number) // none has an empty one
		if taken, err := keepsNumber(ctx, tx, other, err, except); err != nil || taken {
			return n.field, n.label + " " + n.number, err
		}
	}
	return "", "", nil
}

// keepsNumber reports whether another registration that was found, with that error, keeps its number to itself. One that nobody
// confirmed in time gives way: else anyone could keep an organisation out.
func keepsNumber(ctx context.Context, tx *store.Tx, other store.Partner, err error, except string) (bool, error) {
	if errors.Is(err, store.ErrNotFound) || err == nil && other.ID == except {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	late := tx.Now.Sub(other.UpdatedAt.Time) > registry.LinkConfirmEmail.Lifetime()
	if other.Status != store.PartnerRequested || !other.EmailConfirmedAt.IsZero() || !late {
		return true, nil
	}
	other.Status, other.StatusReason, other.DecidedAt = store.PartnerRejected, "partners.reason.unconfirmed", tx.Now
	if err := tx.UpdatePartner(ctx, &other); err != nil {
		return false, err
	}
	return false, registry.Record(ctx, tx, registry.SystemActor(), registry.ActionPartnerLapsed, partnerObject(other), nil)
}

// admitRegistration counts a registration for an address.
func (p *Partners) admitRegistration(ctx context.Context, addr string) error {
	var throttled error
	err := p.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
		throttled, err = admit(ctx, tx, "register:"+registry.AddressBucket(addr), registrationsPerPeriod)
		return err
	})
	if err != nil {
		return fmt.Errorf("count registration: %w", err)
	}
	return throttled
}

// admit counts something for a bucket; throttled is a *ThrottledError once there were most of it in a period.
func admit(ctx context.Context, tx *store.Tx, bucket string, most int64) (throttled, err error) {
	t, err := tx.LockThrottle(ctx, bucket)
	if err != nil {
		return nil, err
	}
	// BlockedUntil is the end of the period here.
	if !tx.Now.Before(t.BlockedUntil.Time) {
		t.Failures, t.BlockedUntil = 0, store.At(tx.Now.Add(registrationPeriod))
	}
	if t.Failures >= most {
		return &registry.ThrottledError{After: t.BlockedUntil.Sub(tx.Now.Time)}, nil
	}
	t.Failures++
	return nil, tx.SaveThrottle(ctx, t)
}

func (in Registration) clean() Registration {
	in.Name = registry.CleanName(in.Name)
	in.OIN, in.KVK, in.HerID = strings.ToUpper(compact(in.OIN)), compact(in.KVK), compact(in.HerID)
	in.BRIN = strings.ToUpper(compact(in.BRIN))
	in.OrgNumber = strings.TrimSuffix(strings.TrimPrefix(strings.ToUpper(compact(in.OrgNumber)), "NO"), "MVA")
	in.Contact.Name = registry.CleanName(in.Contact.Name)
	in.Contact.Email, in.Contact.Phone = registry.CleanEmail(in.Contact.Email), strings.TrimSpace(in.Contact.Phone)
	return in.onlyKnownBy()
}

func (in Registration) check(terms string) registry.Problems {
	wrong := registry.Problems{}
	wrong.Add("name", registry.CheckName(in.Name, 2, 120))
	in.checkNumbers(wrong)
	in.Contact.check(wrong)
	for _, kind := range in.EndpointKinds {
		wrong.AddIf(!slices.Contains(endpointKinds(), kind), "endpointKinds", "partners.endpoint.kind-bad")
	}
	switch {
	case !in.TermsAccepted:
		wrong.Add("terms", "partners.partner.terms-accept")
	case in.TermsVersion != terms:
		wrong.Add("terms", "partners.partner.terms-changed")
	}
	return wrong
}

func (in Registration) fill(p *store.Partner, now store.Time) {
	p.Name, p.OIN, p.KVK, p.BRIN, p.HerID, p.OrgNumber = in.Name, in.OIN, in.KVK, in.BRIN, in.HerID, in.OrgNumber
	p.ContactName, p.ContactEmail, p.ContactPhone = in.Contact.Name, in.Contact.Email, in.Contact.Phone
	p.EndpointKinds, p.Status = slices.Clone(in.EndpointKinds), store.PartnerRequested
	p.StatusReason, p.DecidedAt, p.DecidedBy = "", store.Time{}, ""
	p.TermsVersion, p.TermsAcceptedAt = in.TermsVersion, now
}

// ConfirmPartner returns the partner whose registration a link confirms, or ErrLinkDead.
func (p *Partners) ConfirmPartner(ctx context.Context, token string) (store.Partner, error) {
	id, err := registry.LinkSubject(ctx, p.cfg.DB, registry.LinkConfirmEmail, token, p.cfg.Now())
	if err != nil {
		return store.Partner{}, err
	}
	partner, err := p.cfg.DB.Partner(ctx, id)
	return partner, registry.Found("registration", err)
}

// Confirm uses a confirmation link up: the e-mail address is confirmed, the account gets its password and can log in, and the
// administrators are told. It answers ErrLinkDead, or an *Error with the field password.
func (p *Partners) Confirm(ctx context.Context, token, password string) (store.Account, error) {
	partner, err := p.ConfirmPartner(ctx, token)
	if err != nil {
		return store.Account{}, err
	}
	hash, err := p.accounts.NewHash(ctx, password, "password", partner.ContactEmail, partner.Name)
	if err != nil {
		return store.Account{}, err
	}
	var account store.Account
	err = p.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		id, err := registry.UseLink(ctx, tx, registry.LinkConfirmEmail, token)
		if err != nil {
			return err
		}
		account, err = p.confirm(ctx, tx, id, hash)
		return err
	})
	return account, err
}

func (p *Partners) confirm(ctx context.Context, tx *store.Tx, id, hash string) (store.Account, error) {
	partner, err := registry.Locked(ctx, tx, "registration", "partner", id, tx.Partner)
	if err != nil {
		return store.Account{}, err
	}
	if partner.Status != store.PartnerRequested {
		return store.Account{}, registry.ErrLinkDead
	}
	account, err := tx.AccountByEmail(ctx, partner.ContactEmail)
	if err != nil {
		return account, registry.Found("account", err)
	}
	// The link was mailed for the account of this registration, and for no other.
	if account.PartnerID != partner.ID {
		return account, registry.ErrLinkDead
	}
	if account, err = p.accounts.SetPassword(ctx, tx, account.ID, hash); err != nil {
		return account, err
	}
	partner.EmailConfirmedAt = tx.Now
	if err := tx.UpdatePartner(ctx, &partner); err != nil {
		return account, fmt.Errorf("confirm registration: %w", err)
	}
	if err := registry.Record(ctx, tx, registry.AccountActor(account), registry.ActionPartnerConfirmed, partnerObject(partner), nil); err != nil {
		return account, err
	}
	resembling, err := resembling(ctx, &tx.Queries, partner)
	if err != nil {
		return account, err
	}
	return account, p.cfg.MailAllowed(ctx, tx, registry.DecideApprovals, mailNewRegistration(p.cfg, partner, Doubts(partner, resembling)))
}
