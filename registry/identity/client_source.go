package identity

import (
	"context"
	"errors"
	"strings"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// oinPrefix begins the sources that name an organisation by its OIN (CE-08); URNs are compared without case in this part.
const oinPrefix = "urn:nld:oin:"

// ForeignSource is a source with the OIN of another organisation than the client's. Who publishes from it speaks for that organisation.
type ForeignSource struct {
	Source string
	OIN    string // empty for a prefix that takes in all organisations
	// Name comes from the partner with this OIN or, without one, from the register of OINs; empty when neither knows it.
	Name      string
	PartnerID string // empty when it is no partner of ours
}

// Text describes whose source it is.
func (f ForeignSource) Text() i18n.Message {
	switch {
	case f.OIN == "":
		return i18n.M("identity.source-all", f.Source)
	case f.Name == "":
		return i18n.M("identity.source-unknown", f.Source, f.OIN)
	}
	return i18n.M("identity.source-of", f.Source, f.Name)
}

// ForeignSources lists the sources, or prefixes of them, with the OIN of another organisation than the owner of a client. A prefix that
// takes in every OIN is among them, but for the own organisation, whose clients may relay for the whole chain.
func (c *Clients) ForeignSources(ctx context.Context, owner store.Partner, sources []string) ([]ForeignSource, error) {
	found, err := foreignSources(ctx, &c.cfg.DB.Queries, owner, sources)
	for i := range found {
		if f := &found[i]; f.OIN != "" && f.Name == "" && c.cfg.OINRegister != nil {
			// A register that cannot be read leaves the name open; the OIN stands in the text.
			f.Name, _, _ = c.cfg.OINRegister.OrganisationOf(ctx, f.OIN)
		}
	}
	return found, err
}

func foreignSources(ctx context.Context, q *store.Queries, owner store.Partner, sources []string) ([]ForeignSource, error) {
	var found []ForeignSource
	for _, s := range sources {
		oin, foreign := foreignOIN(s, owner)
		if !foreign {
			continue
		}
		f := ForeignSource{Source: s, OIN: oin}
		partner, err := q.PartnerByOIN(ctx, oin)
		switch {
		case err == nil:
			f.Name, f.PartnerID = partner.Name, partner.ID
		case !errors.Is(err, store.ErrNotFound):
			return nil, registry.Wrap("find whose OIN it is", err)
		case owner.Own && owner.OIN == "":
			continue // it may well be ours: nobody said which is
		}
		found = append(found, f)
	}
	return found, nil
}

// foreignOIN returns the OIN in a source, or in a prefix that ends in a star, when it is not that of owner; none for a prefix of all.
func foreignOIN(source string, owner store.Partner) (oin string, foreign bool) {
	prefix, open := strings.CutSuffix(source, "*")
	small := strings.ToLower(prefix)
	if !strings.HasPrefix(small, oinPrefix) {
		return "", open && strings.HasPrefix(oinPrefix, small) && !owner.Own
	}
	oin = strings.ToUpper(prefix[len(oinPrefix):])
	if end := strings.IndexAny(oin, ":/?#"); end >= 0 {
		oin = oin[:end]
	}
	if oin == "" {
		return "", !owner.Own
	}
	return oin, oin != owner.OIN && (owner.KVK == "" || owner.OIN != "" || oin != "00000003"+owner.KVK+"0000")
}

// grantedSources gives the details of a client for the audit trail, with the reason for sources of others that it is granted and did not
// have before. It refuses those without a reason.
func (c *Clients) grantedSources(ctx context.Context, tx *store.Tx, owner store.Partner, before store.Strings, client store.Client, reason string) (registry.Details, error) {
	details := clientDetails(client)
	var fresh []string
	for _, s := range client.PublishSources {
		if !before.Contains(s) {
			fresh = append(fresh, s)
		}
	}
	if err := requireSourceReason(ctx, tx, owner, fresh, reason, "sourceReason"); err != nil {
		return nil, err
	}
	if reason = strings.TrimSpace(reason); reason != "" && len(fresh) > 0 {
		details["reason"] = reason
	}
	return details, nil
}

// requireSourceReason refuses sources of other organisations that are granted without a reason; the problem is one of field.
func requireSourceReason(ctx context.Context, tx *store.Tx, owner store.Partner, sources []string, reason, field string) error {
	foreign, err := foreignSources(ctx, &tx.Queries, owner, sources)
	if err != nil || len(foreign) == 0 {
		return err
	}
	wrong := registry.Problems{}
	if text := registry.CheckProse(strings.TrimSpace(reason), 3, 1000); text != "" {
		wrong.Add(field, i18n.M("identity.source-reason", foreign[0].Text()))
	}
	return wrong.Err()
}
