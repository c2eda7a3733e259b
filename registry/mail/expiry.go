package mail

import (
	"context"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// Ending is a certificate or key of which people are told that it ends or has ended.
type Ending struct {
	Text, Remedy i18n.Message
	// PartnerID is whose people are told beside the administrators; empty for what is ours.
	PartnerID string
	// Href is the page of administrators, PartnerHref that of the partner; empty where there is none.
	Href, PartnerHref string
}

// Endings tells of certificates and keys that end, in the transaction that notes it: the administrators of all of them in one mail, and the managers of
// each partner of theirs.
func (m *Mails) Endings(ctx context.Context, tx *store.Tx, list []Ending) error {
	if len(list) == 0 {
		return nil
	}
	if err := m.cfg.MailAdministrators(ctx, tx, m.endingsLetter(list, "/admin/installation", func(e Ending) string { return e.Href })); err != nil {
		return err
	}
	var partners []string
	of := map[string][]Ending{}
	for _, e := range list {
		if e.PartnerID == "" {
			continue
		}
		if of[e.PartnerID] == nil {
			partners = append(partners, e.PartnerID)
		}
		of[e.PartnerID] = append(of[e.PartnerID], e)
	}
	for _, id := range partners {
		letter := m.endingsLetter(of[id], "/partner", func(e Ending) string { return e.PartnerHref })
		if err := m.cfg.MailManagers(ctx, tx, id, letter); err != nil {
			return err
		}
	}
	return nil
}

// endingsLetter leads to the page of the one thing that it tells of, or to a page of all.
func (m *Mails) endingsLetter(list []Ending, page string, href func(Ending) string) registry.Message {
	subject := list[0].Text
	if len(list) > 1 {
		subject = i18n.M("mail.expiry.several", len(list))
	} else if own := href(list[0]); own != "" {
		page = own
	}
	letter := m.cfg.Letter(subject, page)
	for _, e := range list {
		letter = letter.Lines(e.Text, e.Remedy)
	}
	return letter
}
