package partners

import (
	"context"
	"strings"
	"unicode"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// Bounds of the search for organisations that a registration could be taken for.
const (
	mostKnown     = 20_000 // organisations that are looked at
	mostResembled = 5      // of which the administrator is told
)

// Resemblance names a known organisation that a registration could be taken for, or that takes part under another name.
type Resemblance struct {
	Known  store.Partner
	ByName bool // the names look alike; otherwise the mail domains are the same
}

// Resembling lists the known organisations, our own among them, whose name looks like that of a partner or whose contact person
// has the same mail domain; those by name first. Nothing is refused for it: an administrator judges.
func (p *Partners) Resembling(ctx context.Context, actor registry.Actor, partner store.Partner) ([]Resemblance, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return nil, err
	}
	return resembling(ctx, &p.cfg.DB.Queries, partner)
}

func resembling(ctx context.Context, q *store.Queries, partner store.Partner) ([]Resemblance, error) {
	known, err := q.KnownPartners(ctx, partner.ID, mostKnown)
	if err != nil {
		return nil, registry.Wrap("list known organisations", err)
	}
	var byName, byDomain []Resemblance
	for _, other := range known {
		switch {
		case registry.LooksLike(partner.Name, other.Name):
			byName = append(byName, Resemblance{other, true})
		case registry.SameMailDomain(partner.ContactEmail, other.ContactEmail):
			byDomain = append(byDomain, Resemblance{other, false})
		}
	}
	all := append(byName, byDomain...)
	return all[:min(len(all), mostResembled)], nil
}

// Doubts lists in sentences what an administrator should look at before a registration is approved: organisations that it resembles,
// and a mailbox that anyone gets.
func Doubts(partner store.Partner, resembling []Resemblance) []i18n.Message {
	var doubts []i18n.Message
	byName := false
	for _, r := range resembling {
		doubts, byName = append(doubts, r.text()), byName || r.ByName
	}
	if byName {
		doubts = append(doubts, foreignLetters(partner.Name)...)
	}
	if domain := registry.MailDomain(partner.ContactEmail); registry.FreeMail(domain) {
		doubts = append(doubts, i18n.M("partners.doubt.free-mail", domain))
	}
	return doubts
}

// foreignLetters shows the letters of a name that are of another script than ours, in brackets, since most of them look like ours.
func foreignLetters(name string) (shown []i18n.Message) {
	for _, script := range []struct {
		letters *unicode.RangeTable
		text    string
	}{
		{unicode.Cyrillic, "partners.doubt.letters-cyrillic"},
		{unicode.Greek, "partners.doubt.letters-greek"},
		{unicode.Armenian, "partners.doubt.letters-armenian"},
	} {
		var marked strings.Builder
		for _, r := range name {
			if unicode.Is(script.letters, r) {
				marked.WriteString("[" + string(r) + "]")
			} else {
				marked.WriteRune(r)
			}
		}
		if marked.Len() > len(name) {
			shown = append(shown, i18n.M(script.text, marked.String()))
		}
	}
	return shown
}

func (r Resemblance) text() i18n.Message {
	numbers, domain := Numbers(r.Known), registry.MailDomain(r.Known.ContactEmail)
	switch {
	case !r.ByName:
		return i18n.M("partners.doubt.domain", domain, r.Known.Name)
	case r.Known.Own:
		return i18n.M("partners.doubt.own", r.Known.Name)
	case numbers == "":
		return i18n.M("partners.doubt.name-alone", r.Known.Name, domain)
	}
	return i18n.M("partners.doubt.name", r.Known.Name, numbers, domain)
}

// Registered holds the entry of the register of OINs about a partner.
type Registered struct {
	Name string // empty for an OIN that the register does not hold
	// Doubt names an oddity: another name, an OIN that is not there, a register that cannot be read. Empty for nothing.
	Doubt i18n.Message
}

// Registered looks a partner up in the register of OINs. ok is false without a register, and for a partner without an OIN.
func (p *Partners) Registered(ctx context.Context, actor registry.Actor, partner store.Partner) (found Registered, ok bool, err error) {
	if err := actor.RequireAdministrator(); err != nil {
		return found, false, err
	}
	if p.cfg.OINRegister == nil || partner.OIN == "" {
		return found, false, nil
	}
	name, known, err := p.cfg.OINRegister.OrganisationOf(ctx, partner.OIN)
	switch {
	case err != nil:
		p.cfg.Log.WarnContext(ctx, "register of OINs cannot be read", "error", err)
		found.Doubt = "partners.doubt.register-down"
	case !known:
		found.Doubt = i18n.M("partners.doubt.oin-unknown", partner.OIN)
	case registry.Skeleton(name) != registry.Skeleton(partner.Name):
		found.Doubt = i18n.M("partners.doubt.oin-other", partner.OIN, name)
	}
	found.Name = name
	return found, true, nil
}
