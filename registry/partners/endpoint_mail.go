package partners

import (
	"context"
	"net/url"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// moveApprovalSubject is that of mails about a destination that waits for an approval.
const moveApprovalSubject = "partners.mail.move-approval-subject"

// mailRedirected tells the people of a partner and the administrators when an endpoint sends elsewhere, or proves itself otherwise there, or is
// to: subject says which, and page is below that of the endpoint.
func (e *Endpoints) mailRedirected(ctx context.Context, tx *store.Tx, actor registry.Actor, before, after store.Endpoint, subject, page string) error {
	owner, err := tx.Partner(ctx, after.PartnerID)
	if err != nil {
		return registry.Found("partner", err)
	}
	changes := destinationChanges(before, after)
	pages := registry.ChangePages{Administrator: "/admin/endpoints/" + after.ID + page, Partner: registry.PartnerPath(owner) + "/endpoints/" + after.ID + page}
	if subject == moveApprovalSubject {
		pages.Decision = "partners.mail.move-decide"
	}
	return e.cfg.MailChange(ctx, tx, actor, after.PartnerID, i18n.M(subject, after.Name, owner.Name), pages, changes)
}

// destinationChanges lists what differs between two destinations of an endpoint. Of what is not told, such as the parameters of an address, it says
// that it differs.
func destinationChanges(before, after store.Endpoint) []registry.Change {
	wasAddress, address := addressText(before.URL), addressText(after.URL)
	wasToken, token := addressText(before.TokenURL), addressText(after.TokenURL)
	wasWords, words := CertificateWords(before), CertificateWords(after)
	return registry.Differences(
		registry.ChangeOf("partners.mail.part-address", wasAddress, address),
		untold("partners.mail.part-parameters", before.URL != after.URL && wasAddress == address),
		registry.ChangeOf("partners.mail.part-token-address", wasToken, token),
		untold("partners.mail.part-token-parameters", before.TokenURL != after.TokenURL && wasToken == token),
		registry.ChangeOf("partners.mail.part-token-client", before.TokenClientID, after.TokenClientID),
		registry.ChangeOf("partners.mail.part-token-method", before.TokenAuthMethod, after.TokenAuthMethod),
		registry.ChangeOf("partners.mail.part-token-scope", before.TokenScope, after.TokenScope),
		registry.ChangeOf("partners.mail.part-certificate", wasWords, words),
		untold("partners.mail.part-certificate", !sameCertificates(before, after) && wasWords == words),
		untold("partners.mail.part-token-secret", before.TokenSecret != after.TokenSecret),
	)
}

// untold is a change of what is not told; none where it does not differ.
func untold(what i18n.Message, differs bool) registry.Change {
	return registry.Change{What: what, Replaced: differs}
}

// Untold names what differs between two destinations of an endpoint, and cannot be told or does not show.
func Untold(before, after store.Endpoint) (list []i18n.Message) {
	for _, change := range destinationChanges(before, after) {
		if change.Replaced {
			list = append(list, change.What)
		}
	}
	return list
}

// addressText is an address without its query, which may hold a key, and without a password.
func addressText(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || raw == "" {
		return ""
	}
	u.RawQuery, u.User, u.Fragment = "", nil, ""
	return u.String()
}

// notify mails the partner what an administrator did to its endpoint.
func (e *Endpoints) notify(ctx context.Context, tx *store.Tx, endpoint store.Endpoint, verb string) error {
	if verb != "suspend" && verb != "release" {
		return nil
	}
	partner, err := tx.Partner(ctx, endpoint.PartnerID)
	if err != nil {
		return registry.Found("partner", err)
	}
	return e.cfg.Mail(ctx, tx, partner.ContactEmail, mailEndpoint(e.cfg, endpoint, partner, verb))
}
