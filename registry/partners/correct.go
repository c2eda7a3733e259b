package partners

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// Correct changes what a partner registered: its name, its numbers and its contact person; what else stands in the registration
// is left alone. Only an administrator may, since others identify the organisation by it; the audit trail lists the changes. Other numbers of a partner
// that was approved wait where approvals take two people. It answers an *Error with the fields of [Partners.Register].
func (p *Partners) Correct(ctx context.Context, actor registry.Actor, id string, in Registration) error {
	if err := actor.RequireAdministrator(); err != nil {
		return err
	}
	in = in.clean()
	wrong := registry.Problems{}
	wrong.Add("name", registry.CheckName(in.Name, 2, 120))
	in.checkNumbers(wrong)
	in.Contact.check(wrong)
	if err := wrong.Err(); err != nil {
		return err
	}
	err := p.holdCorrection(ctx, actor, id, in, func(ctx context.Context) error {
		return p.change(ctx, actor, id, func(tx *store.Tx, row *store.Partner) error { return p.correct(ctx, tx, actor, row, in) })
	})
	if errors.Is(err, store.ErrConflict) {
		return registry.Conflict("partners.partner.numbers-taken")
	}
	return err
}

func (p *Partners) correct(ctx context.Context, tx *store.Tx, actor registry.Actor, row *store.Partner, in Registration) error {
	if row.Own {
		return registry.Conflict("partners.partner.own-fixed")
	}
	if row.Status == store.PartnerRejected || row.Status == store.PartnerEnded {
		return registry.Conflict("partners.partner.over", row.Name)
	}
	wrong := registry.Problems{}
	if row.EmailConfirmedAt.IsZero() && in.Contact.Email != row.ContactEmail {
		wrong.Add("email", i18n.M("partners.partner.confirm-first", row.ContactEmail))
	}
	field, _, err := numberTaken(ctx, tx, in, row.ID)
	switch field {
	case "oin":
		wrong.Add(field, "partners.partner.oin-taken")
	case "orgNumber":
		wrong.Add(field, "partners.partner.orgnr-taken")
	case "brin":
		wrong.Add(field, "partners.partner.brin-taken")
	case "kvk":
		wrong.Add(field, "partners.partner.kvk-taken")
	}
	if err != nil {
		return err
	}
	if err := wrong.Err(); err != nil {
		return err
	}
	before := *row
	*row = in.corrected(before)
	changes := corrections(before, *row)
	if len(changes) == 0 {
		return nil
	}
	if err := tx.UpdatePartner(ctx, row); err != nil {
		return fmt.Errorf("correct partner: %w", err)
	}
	if before.ContactEmail != row.ContactEmail {
		if err := p.cfg.Mail(ctx, tx, before.ContactEmail, mailContactChanged(p.cfg, *row)); err != nil {
			return err
		}
	}
	if err := registry.Record(ctx, tx, actor, registry.ActionPartnerCorrected, partnerObject(*row), registry.Details{"changes": changes}); err != nil {
		return err
	}
	return p.cfg.MailChange(ctx, tx, actor, row.ID, i18n.M("partners.mail.corrected-subject", row.Name),
		registry.ChangePages{Administrator: "/admin/partners/" + row.ID, Partner: "/partner/organisation"}, correctionParts(before, *row))
}

// corrected is a partner with what was registered of it in another way.
func (in Registration) corrected(row store.Partner) store.Partner {
	row.Name, row.OIN, row.KVK, row.BRIN, row.OrgNumber, row.HerID = in.Name, in.OIN, in.KVK, in.BRIN, in.OrgNumber, in.HerID
	row.ContactName, row.ContactEmail, row.ContactPhone = in.Contact.Name, in.Contact.Email, in.Contact.Phone
	return row
}

// numbers lists the numbers of a partner, by which certificates and logins of providers are taken for its own.
func numbers(p store.Partner) [5]string { return [5]string{p.OIN, p.KVK, p.BRIN, p.OrgNumber, p.HerID} }

// correctionParts lists for people what changed of a registration: the numbers say which certificates and logins of providers are the partner's.
func correctionParts(before, after store.Partner) []registry.Change {
	var parts []registry.Change
	for _, n := range [][3]string{
		{"partners.mail.part-name", before.Name, after.Name},
		{"OIN", before.OIN, after.OIN},
		{"partners.mail.part-kvk", before.KVK, after.KVK},
		{"BRIN", before.BRIN, after.BRIN},
		{"organisasjonsnummer", before.OrgNumber, after.OrgNumber},
		{"HER-id", before.HerID, after.HerID},
		{"partners.mail.part-contact", before.ContactName, after.ContactName},
		{"partners.mail.part-contact-address", before.ContactEmail, after.ContactEmail},
	} {
		what := i18n.Message(n[0])
		if !strings.Contains(n[0], ".") {
			what = i18n.Raw(n[0])
		}
		parts = append(parts, registry.ChangeOf(what, n[1], n[2]))
	}
	return registry.Differences(parts...)
}

// corrections lists what changed; of a contact person only that, since the audit trail is kept longer than a contact person stays.
func corrections(before, after store.Partner) []string {
	var changes []string
	for _, n := range [][3]string{
		{"partners.correction.name", before.Name, after.Name},
		{"OIN", before.OIN, after.OIN},
		{"partners.correction.kvk", before.KVK, after.KVK},
		{"BRIN", before.BRIN, after.BRIN},
		{"organisasjonsnummer", before.OrgNumber, after.OrgNumber},
		{"HER-id", before.HerID, after.HerID},
	} {
		switch label, was, is := i18n.Message(n[0]), n[1], n[2]; {
		case was == is:
		case was == "":
			changes = append(changes, string(i18n.M("partners.correction.set", label, is)))
		case is == "":
			changes = append(changes, string(i18n.M("partners.correction.removed", label, was)))
		default:
			changes = append(changes, string(i18n.M("partners.correction.changed", label, is, was)))
		}
	}
	if before.ContactName != after.ContactName || before.ContactEmail != after.ContactEmail || before.ContactPhone != after.ContactPhone {
		changes = append(changes, "partners.correction.contact")
	}
	return changes
}
