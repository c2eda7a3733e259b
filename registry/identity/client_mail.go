package identity

import (
	"context"
	"strings"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// mailKeys tells the people of a partner and the administrators when a client is new, proves itself otherwise, or may do something else.
func (c *Clients) mailKeys(ctx context.Context, tx *store.Tx, actor registry.Actor, before, after store.Client) error {
	owner, err := tx.Partner(ctx, after.PartnerID)
	if err != nil {
		return registry.Found("partner", err)
	}
	changes := registry.Differences(
		registry.ChangeOf("identity.mail.part-method", before.AuthMethod, after.AuthMethod),
		registry.ChangeOf("identity.mail.part-keys-address", before.JWKSURI, after.JWKSURI),
		registry.ChangeOf("identity.mail.part-subject", before.CertificateSubject, after.CertificateSubject),
		registry.Change{What: "identity.mail.part-bound", From: yesNo(before.CertificateBound), To: yesNo(after.CertificateBound)},
		registry.Change{What: "identity.mail.part-dpop", From: yesNo(before.DPoPBound), To: yesNo(after.DPoPBound)},
		registry.Change{What: "identity.mail.part-certificate-keys", From: yesNo(before.CertificateKeys), To: yesNo(after.CertificateKeys)},
		registry.ChangeOf("identity.mail.part-external", externalText(before), externalText(after)),
		registry.ChangeOf("identity.mail.part-scopes", strings.Join(before.Scopes, ", "), strings.Join(after.Scopes, ", ")),
	)
	if before.ID != "" && before.SecretHash != after.SecretHash {
		changes = append(changes, registry.Change{What: "identity.mail.part-secret", Replaced: true})
	}
	if before.ID != "" && before.JWKS != after.JWKS {
		changes = append(changes, registry.Change{What: "identity.mail.part-keys", Replaced: true})
	}
	return c.cfg.MailChange(ctx, tx, actor, after.PartnerID, i18n.M("identity.mail.keys-subject", after.Name, owner.Name),
		registry.ChangePages{Administrator: "/admin/clients/" + after.ID, Partner: registry.PartnerPath(owner) + "/clients/" + after.ID}, changes)
}

// externalText names a client as another token issuer does.
func externalText(c store.Client) string {
	if c.ExternalID == "" {
		return ""
	}
	return c.ExternalID + " (" + c.ExternalIssuer + ")"
}

// yesNo writes a setting of a client.
func yesNo(on bool) i18n.Message {
	if on {
		return "ui.yes"
	}
	return "ui.no"
}
