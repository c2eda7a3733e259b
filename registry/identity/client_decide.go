package identity

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// Decision holds an administrator's decision on the request of a client.
type Decision struct {
	Approve bool
	Reason  string // needed to reject
	// Seen is ClientRequestSeen of the client as it was shown. When the partner
	// changed its request meanwhile nothing is decided. Empty: not compared.
	Seen string
}

// ClientRequestSeen stands for what a client asks for, and the keys with which it would use that, to send along with a decision on it.
func ClientRequestSeen(c store.Client) string {
	text, _ := json.Marshal([]any{c.RequestedScopes, c.RequestedTypes, c.RequestedSources, c.RequestedKeys, clientKeysOf(c)})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// ClientGrant lists exactly what an approval would give a client.
type ClientGrant struct {
	Client  store.Client
	Partner store.Partner
	// Scopes, Types and Sources list the additions.
	Scopes, Types, Sources []string
	Keys                   i18n.Message // the keys that would count from then on; empty: the ones it has
	Seen                   string       // for Decision
	// Foreign lists the sources of other organisations among the additions and what it has.
	Foreign []ForeignSource
}

// AsksForeign reports whether it asks for a source of another organisation, which an approval must give a reason for.
func (g ClientGrant) AsksForeign() bool {
	return slices.ContainsFunc(g.Foreign, func(f ForeignSource) bool { return slices.Contains(g.Sources, f.Source) })
}

// Grant lists what an approval would give.
func (c *Clients) Grant(ctx context.Context, actor registry.Actor, id string) (ClientGrant, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return ClientGrant{}, err
	}
	client, err := c.cfg.DB.Client(ctx, id)
	if err != nil {
		return ClientGrant{}, registry.Found("client", err)
	}
	partner, err := c.cfg.DB.Partner(ctx, client.PartnerID)
	if err != nil {
		return ClientGrant{}, registry.Found("partner", err)
	}
	foreign, err := c.ForeignSources(ctx, partner, slices.Concat(client.RequestedSources, client.PublishSources))
	if err != nil {
		return ClientGrant{}, err
	}
	return ClientGrant{
		Client: client, Partner: partner, Scopes: client.RequestedScopes, Types: client.RequestedTypes,
		Sources: client.RequestedSources, Keys: RequestedKeys(client), Seen: ClientRequestSeen(client), Foreign: foreign,
	}, nil
}

// Decide grants what a client asked for, or turns it down with a reason. The partner is told by mail.
func (c *Clients) Decide(ctx context.Context, actor registry.Actor, id string, d Decision) (store.Client, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return store.Client{}, err
	}
	if err := registry.CheckReason(d.Reason, !d.Approve); err != nil {
		return store.Client{}, err
	}
	if !d.Approve {
		return c.decide(ctx, actor, id, d)
	}
	var client store.Client
	err := c.holdApproval(ctx, actor, id, d, func(ctx context.Context) (err error) {
		client, err = c.decide(ctx, actor, id, d)
		return err
	})
	return client, err
}

func (c *Clients) decide(ctx context.Context, actor registry.Actor, id string, d Decision) (store.Client, error) {
	return c.change(ctx, actor, id, func(tx *store.Tx, client *store.Client) error {
		if !client.Waiting() {
			return registry.Conflict("identity.nothing-asked")
		}
		if d.Seen != "" && d.Seen != ClientRequestSeen(*client) {
			return registry.Conflict("identity.request-changed")
		}
		owner, err := tx.Partner(ctx, client.PartnerID)
		if err != nil {
			return registry.Found("partner", err)
		}
		if d.Approve {
			if err := registry.RequireApproved(owner); err != nil {
				return err
			}
			if err := requireSourceReason(ctx, tx, owner, client.RequestedSources, d.Reason, "reason"); err != nil {
				return err
			}
		}
		asked := *client
		d.settle(client, actor, tx.Now)
		if err := tx.UpdateClient(ctx, client); err != nil {
			return fmt.Errorf("decide on client: %w", err)
		}
		action := registry.ActionClientRejected
		if d.Approve {
			action = registry.ActionClientApproved
		}
		what := registry.Details{
			"reason": d.Reason, "scopes": asked.RequestedScopes, "types": asked.RequestedTypes, "sources": asked.RequestedSources,
		}
		if asked.RequestedKeys != "" {
			what["keys"] = string(RequestedKeys(asked))
		}
		if err := registry.Record(ctx, tx, actor, action, clientObject(*client), what); err != nil {
			return err
		}
		if err := c.cfg.Mail(ctx, tx, owner.ContactEmail, mailClientDecision(c.cfg, asked, owner, d)); err != nil {
			return err
		}
		return c.mailGranted(ctx, tx, actor, asked, *client, owner)
	})
}

func (d Decision) settle(client *store.Client, actor registry.Actor, now store.Time) {
	if d.Approve {
		client.Scopes = union(client.Scopes, client.RequestedScopes)
		client.PublishTypes = union(client.PublishTypes, client.RequestedTypes)
		client.PublishSources = union(client.PublishSources, client.RequestedSources)
		if client.RequestedKeys != "" {
			*client = AskedKeys(*client)
			client.TokenVersion++
		}
	}
	client.RequestedScopes, client.RequestedTypes, client.RequestedSources, client.RequestedKeys = nil, nil, nil, ""
	client.StatusReason, client.DecidedAt, client.DecidedBy = strings.TrimSpace(d.Reason), now, actor.Name
}

func union(a, b store.Strings) store.Strings {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
