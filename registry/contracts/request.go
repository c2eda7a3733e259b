package contracts

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// mustAsk reports whether an actor must ask an administrator to publish what it
// maintains: a partner must, unless the chain lets it publish (EDU-21).
func (c *Contracts) mustAsk(ctx context.Context, actor registry.Actor, reader registry.Reader) (bool, error) {
	if actor.Administrator || reader.Administrator {
		return false, nil
	}
	state, err := c.profile.InForce(ctx)
	if err != nil {
		return false, err
	}
	return state.PartnerPublication == registry.PublicationApprove, nil
}

// PublishesItself reports whether an actor that maintains a contract publishes its versions itself, or asks for that.
func (c *Contracts) PublishesItself(ctx context.Context, actor registry.Actor) (bool, error) {
	reader, err := c.maintainer(ctx, actor)
	if err != nil {
		return false, err
	}
	asks, err := c.mustAsk(ctx, actor, reader)
	return !asks, err
}

// requestPublication writes down that the partner wants a draft published, and tells the administrators.
func (c *Contracts) requestPublication(ctx context.Context, actor registry.Actor, seen store.ContractVersion, reason string) (store.ContractVersion, error) {
	var v store.ContractVersion
	err := c.change(ctx, actor, seen.ContractID, func(tx *store.Tx, row *store.Contract) (err error) {
		if v, err = tx.ContractVersion(ctx, row.ID, seen.Version); err != nil {
			return registry.Found("version", err)
		}
		if err := versionMove("publish").Check(actor, "version", v.Status, reason); err != nil {
			return err
		}
		switch {
		case !sameBytes(v, seen):
			return draftChanged(v)
		case !v.RequestedAt.IsZero():
			return registry.Conflict("contracts.version-refused.asked-already", v.Version)
		}
		v.RequestedAt, v.RequestedBy, v.RequestReason = tx.Now, actor.Name, reason
		if err := tx.SetPublicationRequest(ctx, &v); err != nil {
			return fmt.Errorf("ask for publication: %w", err)
		}
		if err := registry.Record(ctx, tx, actor, registry.ActionContractRequested, versionObject(*row, v), registry.Details{"reason": reason}); err != nil {
			return err
		}
		return c.cfg.MailAllowed(ctx, tx, registry.PublishContracts, mailPublicationWaits(c.cfg, *row, v))
	})
	if err != nil {
		return store.ContractVersion{}, err
	}
	return v, nil
}

// RefusePublication turns down the request to publish a draft; the reason is told to the partner. The draft stays, to be mended.
func (c *Contracts) RefusePublication(ctx context.Context, actor registry.Actor, id, version, reason string) (store.ContractVersion, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return store.ContractVersion{}, err
	}
	reason = strings.TrimSpace(reason)
	if err := registry.CheckReason(reason, true); err != nil {
		return store.ContractVersion{}, err
	}
	var v store.ContractVersion
	err := c.change(ctx, actor, id, func(tx *store.Tx, row *store.Contract) (err error) {
		if v, err = tx.ContractVersion(ctx, id, version); err != nil {
			return registry.Found("version", err)
		}
		if v.Status != store.VersionDraft || v.RequestedAt.IsZero() {
			return registry.Conflict("contracts.version-refused.nobody-asks", v.Version)
		}
		v.RequestedAt, v.RequestedBy, v.RequestReason = store.Time{}, "", ""
		if err := tx.SetPublicationRequest(ctx, &v); err != nil {
			return fmt.Errorf("refuse publication: %w", err)
		}
		if err := registry.Record(ctx, tx, actor, registry.ActionContractRefused, versionObject(*row, v), registry.Details{"reason": reason}); err != nil {
			return err
		}
		return c.notifyOwner(ctx, tx, *row, mailPublicationRefused(c.cfg, *row, v, reason))
	})
	return v, err
}

// notifyOwner mails the partner that owns a contract, if one does.
func (c *Contracts) notifyOwner(ctx context.Context, tx *store.Tx, row store.Contract, msg registry.Message) error {
	if row.OwnerPartnerID == "" {
		return nil
	}
	owner, err := tx.Partner(ctx, row.OwnerPartnerID)
	if err != nil {
		return registry.Found("partner", err)
	}
	return c.cfg.Mail(ctx, tx, owner.ContactEmail, msg)
}

// RequestedVersion is a draft whose publication a partner asks for.
type RequestedVersion struct {
	Contract store.Contract
	store.ContractVersion
}

// Requested lists the drafts whose publication is asked for, the longest waiting
// first, for an administrator, with their total count.
func (c *Contracts) Requested(ctx context.Context, actor registry.Actor, p store.Page) ([]RequestedVersion, int, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return nil, 0, err
	}
	rows, total, err := c.cfg.DB.VersionsRequested(ctx, p)
	if err != nil {
		return nil, 0, fmt.Errorf("list requested publications: %w", err)
	}
	list := make([]RequestedVersion, len(rows))
	for i, v := range rows {
		list[i].ContractVersion = v
		if list[i].Contract, err = c.cfg.DB.Contract(ctx, v.ContractID); err != nil {
			return nil, 0, fmt.Errorf("find contract: %w", err)
		}
	}
	return list, total, nil
}

// named refuses a request to publish a draft that does not name its bytes: CodeDigestMissing without a digest, and
// CodeDraftChanged with that of other bytes. A version that is no draft is refused for that, whatever the digest.
func named(v store.ContractVersion, digest string) error {
	digest = strings.TrimPrefix(strings.TrimSpace(digest), "sha256:")
	switch {
	case digest == "":
		return &registry.Error{Code: registry.CodeDigestMissing, Message: "contracts.version-refused.digest-missing"}
	case v.Status == store.VersionDraft && digest != v.Digest && digest != v.DocumentDigest():
		return draftChanged(v)
	}
	return nil
}

func draftChanged(v store.ContractVersion) error {
	return &registry.Error{Code: registry.CodeDraftChanged, Message: i18n.M("contracts.version-refused.draft-changed", v.Version)}
}

// sameBytes reports whether two readings of a version have the same upload and the same document made of it.
func sameBytes(a, b store.ContractVersion) bool {
	return a.ID == b.ID && a.Digest == b.Digest && a.BundleDigest == b.BundleDigest
}

func contractPage(id, version string) string {
	return "/contracts/" + url.PathEscape(id) + "/versions/" + url.PathEscape(version)
}

func mailPublicationWaits(c registry.Config, row store.Contract, v store.ContractVersion) registry.Message {
	return c.Letter(i18n.M("contracts.mail.asked", row.Owner, row.Title, v.Version), contractPage(row.ID, v.Version),
		i18n.M("contracts.mail.asked-text", v.RequestedBy, row.Owner, v.Version, row.Title, row.ID),
		registry.Because(v.RequestReason), "contracts.mail.asked-next")
}

func mailPublicationRefused(c registry.Config, row store.Contract, v store.ContractVersion, reason string) registry.Message {
	return c.Letter(i18n.M("contracts.mail.refused", row.Title, v.Version), contractPage(row.ID, v.Version),
		i18n.M("contracts.mail.refused-text", c.Organisation, v.Version, row.Title), registry.Because(reason))
}

func mailPublished(c registry.Config, row store.Contract, v store.ContractVersion) registry.Message {
	return c.Letter(i18n.M("contracts.mail.published", row.Title, v.Version), contractPage(row.ID, v.Version),
		i18n.M("contracts.mail.published-text", c.Organisation, v.Version, row.Title))
}
