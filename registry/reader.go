package registry

import "schakel/store"

// Reader identifies a reader of contracts and the catalogue. The zero Reader is
// anyone: it sees what is public and published.
type Reader struct {
	// PartnerID of an approved partner: it sees what is for partners and what is
	// shown to it by name too, and all of the contracts it owns.
	PartnerID string
	// Internal is set for the own organisation, which sees all that is published.
	Internal bool
	// Administrator sees drafts and what is withdrawn too.
	Administrator bool
}

// ReaderOf gives what a partner may read; one that is not approved reads as anyone.
func ReaderOf(p store.Partner) Reader {
	if p.Status != store.PartnerApproved {
		return Reader{}
	}
	return Reader{PartnerID: p.ID, Internal: p.Own}
}

// Sight limits the contracts the reader sees, whatever the versions; nil is all.
func (r Reader) Sight() *store.Sight {
	switch {
	case r.Internal || r.Administrator:
		return nil
	case r.PartnerID != "":
		return &store.Sight{Visibilities: []string{store.VisibilityPublic, store.VisibilityPartners}, PartnerID: r.PartnerID}
	}
	return &store.Sight{Visibilities: []string{store.VisibilityPublic}}
}

// Maintains reports whether the reader maintains a contract.
func (r Reader) Maintains(c store.Contract) bool { return r.Administrator || r.Owns(c) }

// Owns reports whether the reader is the partner that maintains a contract.
func (r Reader) Owns(c store.Contract) bool {
	return r.PartnerID != "" && r.PartnerID == c.OwnerPartnerID
}

// Statuses lists the states of the versions the reader sees; nil is all.
func (r Reader) Statuses(c store.Contract) []string {
	if r.Maintains(c) {
		return nil
	}
	return []string{store.VersionPublished, store.VersionDeprecated}
}
