package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"schakel/registry"
	"schakel/registry/identity/token"
	"schakel/store"
	"schakel/templates/i18n"
)

// maxExternalID bounds what another issuer may call a client, in bytes.
const maxExternalID = 256

// ExternalName names a client as another token issuer does.
type ExternalName struct {
	Issuer string // one of TokenIssuers; empty: tokens of ours alone
	ID     string
}

// TokenIssuers lists the ids of the other issuers whose tokens are taken.
func (c *Clients) TokenIssuers() []string { return c.cfg.TokenIssuers }

var _ token.ExternalClients = (*Clients)(nil)

// ExternalClient implements token.ExternalClients.
func (c *Clients) ExternalClient(ctx context.Context, issuerID, externalID string) (token.Client, error) {
	if !utf8.ValidString(externalID) || strings.Contains(externalID, "\x00") {
		return token.Client{}, token.ErrUnknownClient // PostgreSQL would fail on it
	}
	client, err := c.cfg.DB.ExternalClient(ctx, issuerID, externalID)
	if errors.Is(err, store.ErrNotFound) {
		return token.Client{}, token.ErrUnknownClient
	}
	if err != nil {
		return token.Client{}, fmt.Errorf("find client: %w", err)
	}
	return c.tokenClient(ctx, client)
}

// SetExternalName gives a client its name at another token issuer, whose tokens then act as the client. Only an administrator may: a partner
// could take the name of a client of another one. A name waits where approvals take two people. Fields: issuer, externalId.
func (c *Clients) SetExternalName(ctx context.Context, actor registry.Actor, id string, name ExternalName) (store.Client, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return store.Client{}, err
	}
	name.Issuer, name.ID = strings.TrimSpace(name.Issuer), strings.TrimSpace(name.ID)
	wrong := registry.Problems{}
	wrong.AddIf(name.Issuer != "" && !slices.Contains(c.cfg.TokenIssuers, name.Issuer), "issuer", "identity.external-issuer")
	wrong.AddIf(name.Issuer != "" && name.ID == "", "externalId", "identity.external-missing")
	wrong.AddIf(name.Issuer == "" && name.ID != "", "issuer", "identity.external-issuer-missing")
	printable := func(r rune) bool { return r > ' ' && r != utf8.RuneError && r != '\u007f' }
	wrong.AddIf(len(name.ID) > maxExternalID || strings.ContainsFunc(name.ID, func(r rune) bool { return !printable(r) }), "externalId", "identity.external-wrong")
	if err := wrong.Err(); err != nil {
		return store.Client{}, err
	}
	if name.ID == "" { // what stops tokens does not wait
		return c.nameAtIssuer(ctx, actor, id, name)
	}
	client, err := c.cfg.DB.Client(ctx, id)
	if err != nil {
		return store.Client{}, registry.Found("client", err)
	}
	err = c.cfg.Hold(ctx, actor, registry.Ask{
		Kind: registry.TwoApprovals, Action: ConfirmExternal, Object: clientObject(client), Args: name, Lock: "client",
		Describe: func(ctx context.Context) ([]i18n.Message, string, error) { return c.describeName(ctx, id, name) },
	}, func(ctx context.Context) (err error) {
		client, err = c.nameAtIssuer(ctx, actor, id, name)
		return err
	})
	return client, err
}

// describeName tells a second person what a name at another token issuer gives.
func (c *Clients) describeName(ctx context.Context, id string, name ExternalName) ([]i18n.Message, string, error) {
	client, err := c.cfg.DB.Client(ctx, id)
	if err != nil {
		return nil, "", registry.Found("client", err)
	}
	partner, err := c.cfg.DB.Partner(ctx, client.PartnerID)
	if err != nil {
		return nil, "", registry.Found("partner", err)
	}
	state, err := registry.Fingerprint(client.Status, client.ExternalIssuer, client.ExternalID, client.Scopes, partner.Status)
	return []i18n.Message{i18n.M("identity.confirm.external", client.Name, partner.Name, name.ID, name.Issuer)}, state, err
}

// ConfirmedExternal names a client at another token issuer, as a second person confirmed it.
func (c *Clients) ConfirmedExternal(ctx context.Context, actor registry.Actor, asked store.Confirmation) error {
	var name ExternalName
	if err := json.Unmarshal([]byte(asked.Args), &name); err != nil {
		return fmt.Errorf("read name that was asked for: %w", err)
	}
	_, err := c.SetExternalName(ctx, actor, asked.ObjectID, name)
	return err
}

func (c *Clients) nameAtIssuer(ctx context.Context, actor registry.Actor, id string, name ExternalName) (store.Client, error) {
	return c.change(ctx, actor, id, func(tx *store.Tx, client *store.Client) error {
		if client.Status != store.ClientActive {
			return registry.Conflict("identity.client-revoked")
		}
		before := *client
		client.ExternalIssuer, client.ExternalID = name.Issuer, name.ID
		if before.ExternalIssuer == client.ExternalIssuer && before.ExternalID == client.ExternalID {
			return nil
		}
		err := tx.UpdateClient(ctx, client)
		if errors.Is(err, store.ErrConflict) {
			taken := registry.Problems{}
			taken.Add("externalId", i18n.Message("identity.external-taken"))
			return taken.Err()
		}
		if err != nil {
			return fmt.Errorf("name client of token issuer: %w", err)
		}
		details := registry.Details{"issuer": name.Issuer, "externalId": name.ID}
		if err := registry.Record(ctx, tx, actor, registry.ActionClientUpdated, clientObject(*client), details); err != nil {
			return err
		}
		return c.mailKeys(ctx, tx, actor, before, *client)
	})
}

// Nonces makes the nonces of DPoP proofs, with the key of the vault that all nodes share.
func (c *Clients) Nonces() token.Nonces { return c.cfg.Vault }

// AsksNonce reports whether DPoP proofs need a nonce; while the settings cannot be read, they do.
func (c *Clients) AsksNonce(ctx context.Context) bool {
	state, err := c.profile.InForce(ctx)
	return err != nil || state.ProofNonce == registry.PolicyRequire
}
