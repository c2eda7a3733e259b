package mail

import (
	"context"
	"errors"
	"fmt"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

const (
	digestBatch = 20 // accounts in one transaction
	digestLines = 50 // issues that a digest lists; the page lists all
)

// queueDigests queues the digests that are due. One with nothing to tell is left out.
func (m *Mailer) queueDigests(ctx context.Context) error {
	due, err := m.cfg.DB.HasDigestDue(ctx, store.At(m.cfg.Now()))
	if err != nil || !due {
		return registry.Wrap("look for digests", err)
	}
	err = m.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		accounts, err := tx.DueDigests(ctx, digestBatch)
		if err != nil {
			return err
		}
		for _, a := range accounts {
			if err := queueDigest(ctx, m.cfg, tx, a); err != nil {
				return fmt.Errorf("digest of account %s: %w", a.ID, err)
			}
		}
		return nil
	})
	return registry.Wrap("queue digests", err)
}

// queueDigest tells an account what happened since its last digest, and plans the next one.
func queueDigest(ctx context.Context, cfg registry.Config, tx *store.Tx, a store.Account) error {
	since := a.DigestFrom
	a.DigestFrom, a.DigestDue = tx.Now, store.At(registry.NextDigest(a, tx.Now.Time))
	if err := tx.UpdateAccount(ctx, &a); err != nil {
		return err
	}
	if a.Status != store.AccountActive {
		return nil
	}
	msg, something, err := digest(ctx, cfg, tx, a, since)
	if err != nil || !something {
		return err
	}
	return cfg.Mail(ctx, tx, a.Email, msg)
}

// digest writes the digest of an account: the issues that are not resolved, the deliveries that wait for a person, and the issues that were
// resolved since. something is false when there are none.
func digest(ctx context.Context, cfg registry.Config, tx *store.Tx, a store.Account, since store.Time) (msg registry.Message, something bool, err error) {
	scope, base := a.PartnerID, "/partner"
	if registry.OfOrganisation(a) {
		scope, base = "", "/admin"
	}
	page := store.Page{Number: 1, Size: digestLines}
	open, n, err := tx.Issues(ctx, store.IssueFilter{PartnerID: scope, Statuses: []string{store.IssueOpen, store.IssueReopened, store.IssueAcknowledged}, Page: page})
	if err != nil {
		return msg, false, err
	}
	resolved, _, err := tx.Issues(ctx, store.IssueFilter{PartnerID: scope, Statuses: []string{store.IssueResolved}, ResolvedFrom: since, Page: page})
	if err != nil {
		return msg, false, err
	}
	dead, err := tx.CountListed(ctx, store.DeliveryFilter{PartnerID: scope, Statuses: []string{store.DeliveryDead}})
	if err != nil {
		return msg, false, err
	}
	refused, err := tx.CountListed(ctx, store.DeliveryFilter{PartnerID: scope, Statuses: []string{store.DeliveryHeld}, NotReasons: store.StoppedReasons()})
	if err != nil {
		return msg, false, err
	}
	paused, err := tx.CountListed(ctx, store.DeliveryFilter{PartnerID: scope, Statuses: []string{store.DeliveryHeld}, Reasons: store.StoppedReasons()})
	if err != nil || len(open)+len(resolved)+dead+refused+paused == 0 {
		return msg, false, err
	}
	msg = cfg.Letter(i18n.M("mail.digest.subject", i18n.M("mail.digest.issues", n), deliveriesOf(dead+refused)), base+"/issues",
		i18n.M("mail.digest.counts", deliveriesOf(dead), deliveriesOf(refused), deliveriesOf(paused)))
	if msg, err = issueParagraph(ctx, cfg, tx, msg, i18n.M("mail.digest.open", n), open, base); err != nil {
		return msg, false, err
	}
	msg, err = issueParagraph(ctx, cfg, tx, msg, i18n.M("mail.digest.resolved", len(resolved)), resolved, base)
	return msg.Lines("mail.digest.settings"), true, err
}

// issueParagraph adds a paragraph that lists issues, each with its partner, endpoint, cause and page; nothing when there are none.
func issueParagraph(ctx context.Context, cfg registry.Config, tx *store.Tx, msg registry.Message, head i18n.Message, issues []store.Issue, base string) (registry.Message, error) {
	if len(issues) == 0 {
		return msg, nil
	}
	lines := []i18n.Message{head}
	for _, i := range issues {
		endpoint, err := tx.Endpoint(ctx, i.EndpointID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return msg, err
		}
		partner, err := tx.Partner(ctx, i.PartnerID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return msg, err
		}
		lines = append(lines, registry.Bullet(i18n.M("mail.digest.issue", endpoint.Name, partner.Name, registry.IssueCause(i.Cause), i.Failures, i.FirstAt.Time)),
			i18n.Raw("  "+cfg.BaseURL+base+"/issues/"+i.ID))
	}
	return msg.Lines(lines...), nil
}

// IssuesOpened notifies the people concerned of issues that were opened or reopened and are so still: each partner gets one mail, and each
// administrator one about all of them. It is called in the transaction that notes it.
func (m *Mails) IssuesOpened(ctx context.Context, tx *store.Tx, issues []store.Issue) error {
	told := map[string]bool{}
	people, err := tellsAtOnce(ctx, tx, "")
	if err != nil {
		return err
	}
	for _, to := range people {
		told[to] = true
	}
	if err := m.mailIssues(ctx, tx, people, issues, "/admin"); err != nil {
		return err
	}
	byPartner := map[string][]store.Issue{}
	var order []string
	for _, i := range issues {
		if byPartner[i.PartnerID] == nil {
			order = append(order, i.PartnerID)
		}
		byPartner[i.PartnerID] = append(byPartner[i.PartnerID], i)
	}
	for _, id := range order {
		partner, err := tx.Partner(ctx, id)
		if err != nil {
			return fmt.Errorf("find partner: %w", err)
		}
		people, err := concerned(ctx, tx, partner, told)
		if err != nil {
			return err
		}
		if err := m.mailIssues(ctx, tx, people, byPartner[id], registry.TrafficPath(partner)); err != nil {
			return err
		}
	}
	return nil
}

// mailIssues writes to people about issues, with links below base.
func (m *Mails) mailIssues(ctx context.Context, tx *store.Tx, people []string, issues []store.Issue, base string) error {
	if len(people) == 0 {
		return nil
	}
	subject := i18n.M("mail.issue.opened", len(issues))
	if len(issues) == 1 {
		endpoint, err := tx.Endpoint(ctx, issues[0].EndpointID)
		if err != nil {
			return fmt.Errorf("find endpoint: %w", err)
		}
		subject = i18n.M("mail.issue.opened-one", endpoint.Name, registry.IssueCause(issues[0].Cause))
	}
	msg, err := issueParagraph(ctx, m.cfg, tx, m.cfg.Letter(subject, ""), "mail.issue.opened-what", issues, base)
	if err != nil {
		return err
	}
	msg = msg.Lines("mail.issue.opened-next").Lines("mail.digest.settings")
	for _, to := range people {
		if err := m.cfg.Mail(ctx, tx, to, msg); err != nil {
			return err
		}
	}
	return nil
}

// tellsAtOnce lists the addresses of a partner's accounts, or of who handles issues of the organisation for "", that want a mail when something happens.
func tellsAtOnce(ctx context.Context, tx *store.Tx, partnerID string) (people []string, err error) {
	accounts, err := tx.Accounts(ctx, partnerID)
	if err != nil {
		return nil, fmt.Errorf("list accounts: %w", err)
	}
	for _, a := range accounts {
		if a.TellsAtOnce() && (partnerID != "" || registry.Allows(a.Role, registry.HandleIssues)) {
			people = append(people, a.Email)
		}
	}
	return people, nil
}

// concerned lists the addresses of a partner that want a mail when something happens: its accounts that chose so, and its contact person
// when that has no account to choose with. Those of told are left out.
func concerned(ctx context.Context, tx *store.Tx, partner store.Partner, told map[string]bool) (people []string, err error) {
	if !partner.Own {
		if people, err = tellsAtOnce(ctx, tx, partner.ID); err != nil {
			return nil, err
		}
	}
	contact := registry.CleanEmail(partner.ContactEmail)
	_, err = tx.AccountByEmail(ctx, contact)
	if errors.Is(err, store.ErrNotFound) && contact != "" && !told[contact] {
		people = append(people, partner.ContactEmail)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("find account of contact: %w", err)
	}
	return people, nil
}
