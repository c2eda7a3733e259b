package identity

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// ConfirmClient names the approval of what a client asks for, which may wait for a second person.
const ConfirmClient = "client.approve"

// ConfirmExternal names the name of a client at another token issuer, which may wait for a second person.
const ConfirmExternal = "client.issuer"

// Confirmed approves what a client asks for, as a second person confirmed it.
func (c *Clients) Confirmed(ctx context.Context, actor registry.Actor, asked store.Confirmation) error {
	var d Decision
	if err := json.Unmarshal([]byte(asked.Args), &d); err != nil {
		return fmt.Errorf("read decision that was asked for: %w", err)
	}
	_, err := c.Decide(ctx, actor, asked.ObjectID, d)
	return err
}

// holdApproval approves what a client asks for by do, or makes that wait.
func (c *Clients) holdApproval(ctx context.Context, actor registry.Actor, id string, d Decision, do func(context.Context) error) error {
	client, err := c.cfg.DB.Client(ctx, id)
	if err != nil {
		return registry.Found("client", err)
	}
	return c.cfg.Hold(ctx, actor, registry.Ask{
		Kind: registry.TwoApprovals, Action: ConfirmClient, Object: clientObject(client), Args: d, Reason: d.Reason, Lock: "client",
		Describe: func(ctx context.Context) ([]i18n.Message, string, error) {
			g, err := c.Grant(ctx, actor, id)
			if err != nil {
				return nil, "", err
			}
			changes := []i18n.Message{i18n.M("identity.confirm.client", g.Client.Name, g.Partner.Name)}
			for _, list := range []struct {
				text string
				what []string
			}{{"identity.confirm.scopes", g.Scopes}, {"identity.confirm.types", g.Types}, {"identity.confirm.sources", g.Sources}} {
				if len(list.what) > 0 {
					changes = append(changes, i18n.M(list.text, strings.Join(list.what, ", ")))
				}
			}
			if g.Keys != "" {
				changes = append(changes, i18n.M("identity.confirm.keys", g.Keys))
			}
			state, err := registry.Fingerprint(g.Seen, g.Client.Status, g.Partner.Status, clientKeysOf(g.Client), g.Client.AuthMethod)
			return changes, state, err
		},
	}, do)
}
