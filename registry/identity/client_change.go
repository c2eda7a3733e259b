package identity

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/registry/identity/token"
	"schakel/store"
)

// apply writes what is asked into a client. What an administrator asks for is granted, unless two people must approve it; what a partner asks
// for beyond the free scopes is requested, and what it no longer asks for is taken away at once.
func (c *Clients) apply(ctx context.Context, client *store.Client, in NewClient, actor registry.Actor, now store.Time) {
	client.Name, client.AuthMethod, client.JWKS, client.JWKSURI = in.Name, in.AuthMethod, in.JWKS, in.JWKSURI
	client.CertificateSubject, client.CertificateBound, client.CertificateKeys = in.CertificateSubject, in.CertificateBound, in.CertificateKeys
	client.DPoPBound = in.DPoPBound
	decides := c.Decides(ctx, actor)
	all := func(string) bool { return decides }
	list := c.FreeScopes(ctx)
	free := func(s string) bool { return decides || slices.Contains(list, s) }
	client.Scopes, client.RequestedScopes = split(in.Scopes, client.Scopes, free)
	client.PublishTypes, client.RequestedTypes = split(in.PublishTypes, client.PublishTypes, all)
	client.PublishSources, client.RequestedSources = split(in.PublishSources, client.PublishSources, all)
	if decides {
		client.DecidedAt, client.DecidedBy = now, actor.Name
	}
}

// split divides asked in what is granted now, because it was or is free, and what waits for approval.
func split(asked []string, granted store.Strings, free func(string) bool) (now, later store.Strings) {
	for _, s := range asked {
		if free(s) || granted.Contains(s) {
			now = append(now, s)
		} else {
			later = append(later, s)
		}
	}
	return now, later
}

// Update changes a client to what is asked. Its authentication method stays. Fields: as Create.
func (c *Clients) Update(ctx context.Context, actor registry.Actor, id string, in NewClient) (store.Client, error) {
	if err := c.checkChanged(ctx, actor.Scope(), id, in); err != nil {
		return store.Client{}, err
	}
	return c.change(ctx, actor, id, func(tx *store.Tx, client *store.Client) error {
		if client.Status != store.ClientActive {
			return registry.Conflict("identity.client-revoked")
		}
		asked := in.clean()
		asked.AuthMethod = client.AuthMethod
		if err := c.check(asked, []string{client.AuthMethod}, actor.Administrator).Err(); err != nil {
			return err
		}
		before := *client
		owner, err := tx.Partner(ctx, client.PartnerID)
		if err != nil {
			return registry.Found("partner", err)
		}
		if !c.Decides(ctx, actor) {
			*client = AskedKeys(*client) // what the form does not show, such as a secret, goes on waiting
		}
		c.apply(ctx, client, asked, actor, tx.Now)
		if err := c.holdKeys(ctx, actor, before, client); err != nil {
			return err
		}
		details, err := c.grantedSources(ctx, tx, owner, before.PublishSources, *client, asked.SourceReason)
		if err != nil {
			return err
		}
		client.StatusReason = ""
		if clientKeysOf(*client) != clientKeysOf(before) {
			client.TokenVersion++
		}
		if err := tx.UpdateClient(ctx, client); err != nil {
			return fmt.Errorf("update client: %w", err)
		}
		if err := registry.Record(ctx, tx, actor, registry.ActionClientUpdated, clientObject(*client), details.Changed(before, *client, "jwks", "secret_hash", "requested_keys")); err != nil {
			return err
		}
		if err := c.mailKeys(ctx, tx, actor, before, *client); err != nil {
			return err
		}
		return c.notifyWaiting(ctx, tx, owner, *client)
	})
}

// RotateSecret gives a client another secret, shown this once. The old one and all tokens stop working.
func (c *Clients) RotateSecret(ctx context.Context, actor registry.Actor, id string) (client store.Client, secret string, err error) {
	client, err = c.change(ctx, actor, id, func(tx *store.Tx, client *store.Client) error {
		if client.Status != store.ClientActive || !HasSecret(client.AuthMethod) {
			return registry.Conflict("identity.client-no-secret")
		}
		before := *client
		if !c.Decides(ctx, actor) {
			*client = AskedKeys(*client)
		}
		secret, client.SecretHash = token.NewSecret()
		if err := c.holdKeys(ctx, actor, before, client); err != nil {
			return err
		}
		if client.RequestedKeys == "" {
			client.TokenVersion++
		}
		if err := tx.UpdateClient(ctx, client); err != nil {
			return fmt.Errorf("rotate secret: %w", err)
		}
		if err := registry.Record(ctx, tx, actor, registry.ActionClientSecretRotated, clientObject(*client), registry.Details{}.Changed(before, *client, "jwks", "secret_hash", "requested_keys")); err != nil {
			return err
		}
		return c.mailRotated(ctx, tx, actor, before, *client)
	})
	return client, secret, err
}

// AddKeyPair gives a client that authenticates with private_key_jwt a new key pair beside the keys it has, which keep
// working until somebody removes them, so that the client can change over without a gap (SEC-02). The private key is in
// the answer and stored nowhere.
func (c *Clients) AddKeyPair(ctx context.Context, actor registry.Actor, id string) (client store.Client, pair token.KeyPair, err error) {
	if pair, err = token.NewKeyPair(); err != nil {
		return client, pair, err
	}
	client, err = c.change(ctx, actor, id, func(tx *store.Tx, client *store.Client) error {
		if client.Status != store.ClientActive || client.AuthMethod != token.PrivateKeyJWT {
			return registry.Conflict("identity.client-no-keys")
		}
		asked := AskedKeys(*client)
		if asked.JWKSURI != "" {
			return registry.Conflict("identity.keys-fetched", asked.JWKSURI)
		}
		keys, err := token.AddKeys(asked.JWKS, pair.Public)
		if err != nil {
			return fmt.Errorf("add key of client: %w", err)
		}
		if err := token.ParseJWKS([]byte(keys)); err != nil {
			return registry.Conflict("identity.keys-full", err.Error())
		}
		before := *client
		*client = asked
		client.JWKS = keys
		if err := c.holdKeys(ctx, actor, before, client); err != nil {
			return err
		}
		if err := tx.UpdateClient(ctx, client); err != nil {
			return fmt.Errorf("add key of client: %w", err)
		}
		if err := registry.Record(ctx, tx, actor, registry.ActionClientKeyAdded, clientObject(*client), keyAdded(pair.KeyID, *client)); err != nil {
			return err
		}
		return c.mailRotated(ctx, tx, actor, before, *client)
	})
	return client, pair, err
}

// keyAdded tells of a key that was added, and that it waits where it does.
func keyAdded(kid string, client store.Client) registry.Details {
	what := registry.Details{"kid": kid}
	if client.RequestedKeys != "" {
		what["waits"] = "approval"
	}
	return what
}

// Revoke ends a client for good: its secret and tokens stop working.
func (c *Clients) Revoke(ctx context.Context, actor registry.Actor, id, reason string) error {
	if err := registry.CheckReason(reason, false); err != nil {
		return err
	}
	_, err := c.change(ctx, actor, id, func(tx *store.Tx, client *store.Client) error {
		if client.Status != store.ClientActive {
			return registry.Conflict("identity.client-revoked-already")
		}
		revoke(client, reason)
		if err := tx.UpdateClient(ctx, client); err != nil {
			return fmt.Errorf("revoke client: %w", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionClientRevoked, clientObject(*client), registry.Details{"reason": reason})
	})
	return err
}

func revoke(client *store.Client, reason string) {
	client.Status, client.StatusReason, client.SecretHash = store.ClientRevoked, strings.TrimSpace(reason), ""
	client.RequestedScopes, client.RequestedTypes, client.RequestedSources, client.RequestedKeys = nil, nil, nil, ""
	client.ExternalIssuer, client.ExternalID = "", "" // so that another client can have the name
	client.TokenVersion++
}

// StopClients makes the tokens of a partner's clients stop; for ever when ended.
func StopClients(ctx context.Context, tx *store.Tx, partnerID string, ended bool) error {
	clients, err := tx.Clients(ctx, partnerID)
	if err != nil {
		return fmt.Errorf("list clients: %w", err)
	}
	for _, client := range clients {
		if client.Status != store.ClientActive {
			continue
		}
		client.TokenVersion++
		if ended {
			revoke(&client, "partners.reason.partner-ended")
		}
		if err := tx.UpdateClient(ctx, &client); err != nil {
			return fmt.Errorf("stop client: %w", err)
		}
	}
	return nil
}

// change reads a client the actor may change and keeps others from changing it meanwhile.
func (c *Clients) change(ctx context.Context, actor registry.Actor, id string, fn func(*store.Tx, *store.Client) error) (store.Client, error) {
	var client store.Client
	err := c.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
		if client, err = registry.Locked(ctx, tx, "client", "client", id, tx.Client); err != nil {
			return err
		}
		if err := registry.AllowChange(ctx, tx, actor, "client", client.PartnerID); err != nil {
			return err
		}
		return fn(tx, &client)
	})
	if err != nil {
		return store.Client{}, err
	}
	return client, nil
}
