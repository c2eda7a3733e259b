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
		registry.ChangeOf("identity.mail.part-external", externalText(before), externalText(after)),
		registry.ChangeOf("identity.mail.part-scopes", strings.Join(before.Scopes, ", "), strings.Join(after.Scopes, ", ")),
	)
	changes = append(changes, proofChanges(before, after)...)
	if before.ID != "" && before.SecretHash != after.SecretHash {
		changes = append(changes, registry.Change{What: "identity.mail.part-secret", Replaced: true})
	}
	if before.ID != "" && before.JWKS != after.JWKS {
		changes = append(changes, registry.Change{What: "identity.mail.part-keys", Replaced: true})
	}
	if asked := RequestedKeys(after); before.RequestedKeys != after.RequestedKeys && asked != "" {
		changes = append(changes, registry.Change{What: "identity.mail.part-asked-keys", From: "mail.change.none", To: asked})
	}
	return c.cfg.MailChange(ctx, tx, actor, after.PartnerID, i18n.M("identity.mail.keys-subject", after.Name, owner.Name),
		registry.ChangePages{Administrator: "/admin/clients/" + after.ID, Partner: registry.PartnerPath(owner) + "/clients/" + after.ID}, changes)
}

// mailRotated mails other keys of a client, and the administrators where these wait for them.
func (c *Clients) mailRotated(ctx context.Context, tx *store.Tx, actor registry.Actor, before, after store.Client) error {
	if err := c.mailKeys(ctx, tx, actor, before, after); err != nil || after.RequestedKeys == "" {
		return err
	}
	owner, err := tx.Partner(ctx, after.PartnerID)
	if err != nil {
		return registry.Found("partner", err)
	}
	return c.notifyWaiting(ctx, tx, owner, after)
}

// mailGranted tells the administrators what one of them granted a client; its owner has the mail of the decision.
func (c *Clients) mailGranted(ctx context.Context, tx *store.Tx, actor registry.Actor, before, after store.Client, owner store.Partner) error {
	list := func(names store.Strings) string { return strings.Join(names, ", ") }
	changes := registry.Differences(
		registry.ChangeOf("identity.mail.part-scopes", list(before.Scopes), list(after.Scopes)),
		registry.ChangeOf("identity.mail.part-types", list(before.PublishTypes), list(after.PublishTypes)),
		registry.ChangeOf("identity.mail.part-sources", list(before.PublishSources), list(after.PublishSources)),
	)
	if clientKeysOf(before) != clientKeysOf(after) {
		changes = append(changes, registry.Change{What: "identity.mail.part-asked-keys", From: RequestedKeys(before), To: "identity.asked-keys.counts"})
	}
	return c.cfg.MailChange(ctx, tx, actor, "", i18n.M("identity.mail.keys-subject", after.Name, owner.Name),
		registry.ChangePages{Administrator: "/admin/clients/" + after.ID}, changes)
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

func mailClientWaits(c registry.Config, p store.Partner, client store.Client) registry.Message {
	return c.Letter(i18n.M("identity.mail.waits", p.Name), "/admin/clients/"+client.ID,
		i18n.M("identity.mail.waits-for", client.Name, p.Name),
		registry.Bullets(client.RequestedScopes, client.RequestedTypes, client.RequestedSources), RequestedKeys(client)).Of(p.ID)
}

func mailClientDecision(c registry.Config, asked store.Client, owner store.Partner, d Decision) registry.Message {
	subject, what := i18n.M("identity.mail.rejected", asked.Name), i18n.M("identity.mail.rejected-what", c.Organisation, asked.Name)
	if d.Approve {
		subject, what = i18n.M("identity.mail.granted", asked.Name), i18n.M("identity.mail.granted-what", c.Organisation, asked.Name)
	}
	return c.Letter(subject, registry.PartnerPath(owner)+"/clients/"+asked.ID, what,
		registry.Bullets(asked.RequestedScopes, asked.RequestedTypes, asked.RequestedSources), RequestedKeys(asked), registry.Because(d.Reason))
}
