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
)

// Decision holds an administrator's decision on the request of a client.
type Decision struct {
	Approve bool
	Reason  string // needed to reject
	// Seen is ClientRequestSeen of the client as it was shown. When the partner
	// changed its request meanwhile nothing is decided. Empty: not compared.
	Seen string
}

// ClientRequestSeen stands for what a client asks for, to send along with a
// decision on it.
func ClientRequestSeen(c store.Client) string {
	text, _ := json.Marshal([]store.Strings{c.RequestedScopes, c.RequestedTypes, c.RequestedSources})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// ClientGrant lists exactly what an approval would give a client.
type ClientGrant struct {
	Client  store.Client
	Partner store.Partner
	// Scopes, Types and Sources list the additions.
	Scopes, Types, Sources []string
	Seen                   string // for Decision
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
	return ClientGrant{
		Client: client, Partner: partner, Scopes: client.RequestedScopes, Types: client.RequestedTypes,
		Sources: client.RequestedSources, Seen: ClientRequestSeen(client),
	}, nil
}

// Decide grants what a client asked for, or turns it down with a reason. The
// partner is told by mail.
func (c *Clients) Decide(ctx context.Context, actor registry.Actor, id string, d Decision) (store.Client, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return store.Client{}, err
	}
	if err := registry.CheckReason(d.Reason, !d.Approve); err != nil {
		return store.Client{}, err
	}
	return c.change(ctx, actor, id, func(tx *store.Tx, client *store.Client) error {
		if !client.Waiting() {
			return registry.Conflict("This client asks for nothing (any more).")
		}
		if d.Seen != "" && d.Seen != ClientRequestSeen(*client) {
			return registry.Conflict("The request has changed since you looked at it. Look again.")
		}
		owner, err := tx.Partner(ctx, client.PartnerID)
		if err != nil {
			return registry.Found("partner", err)
		}
		if d.Approve {
			if err := registry.RequireApproved(owner); err != nil {
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
		if err := registry.Record(ctx, tx, actor, action, clientObject(*client), what); err != nil {
			return err
		}
		return c.cfg.Mail(ctx, tx, owner.ContactEmail, mailClientDecision(c.cfg, asked, owner, d))
	})
}

// settle writes the decision into the client.
func (d Decision) settle(client *store.Client, actor registry.Actor, now store.Time) {
	if d.Approve {
		client.Scopes = union(client.Scopes, client.RequestedScopes)
		client.PublishTypes = union(client.PublishTypes, client.RequestedTypes)
		client.PublishSources = union(client.PublishSources, client.RequestedSources)
	}
	client.RequestedScopes, client.RequestedTypes, client.RequestedSources = nil, nil, nil
	client.StatusReason, client.DecidedAt, client.DecidedBy = strings.TrimSpace(d.Reason), now, actor.Name
}

func union(a, b store.Strings) store.Strings {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

func mailClientWaits(c registry.Config, p store.Partner, client store.Client) registry.Message {
	return c.Letter("Client of "+p.Name+" asks for more", "/admin/clients/"+client.ID,
		"Client "+client.Name+" of "+p.Name+" asks for what only an administrator can grant:",
		registry.Bullets(client.RequestedScopes, client.RequestedTypes, client.RequestedSources))
}

func mailClientDecision(c registry.Config, asked store.Client, owner store.Partner, d Decision) registry.Message {
	verb := "rejected"
	if d.Approve {
		verb = "granted"
	}
	return c.Letter("Request of client "+asked.Name+" is "+verb, registry.PartnerPath(owner)+"/clients/"+asked.ID,
		fmt.Sprintf("%s %s what client %s asked for:", c.Organisation, verb, asked.Name),
		registry.Bullets(asked.RequestedScopes, asked.RequestedTypes, asked.RequestedSources), registry.Because(d.Reason))
}
