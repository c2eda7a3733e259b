package identity

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/registry/identity/token"
	"schakel/store"
	"schakel/templates/i18n"
)

// Whoever has the keys of a client that reads gets by pull what a webhook would be sent. So where a changed destination of a webhook waits
// (sending.new_destination), a scope to read and other keys of a client that has one wait too, for an administrator, since no host answers a
// challenge. The keys that a client has go on meanwhile.

// readScopes are the scopes with which a client reads events and mutations.
var readScopes = []string{ScopeEventsConsume, ScopeMutationsRead}

// FreeScopes lists the scopes a partner may give its clients itself, as the profile says now; the others wait for an administrator. While the
// profile cannot be read, none of them reads.
func (c *Clients) FreeScopes(ctx context.Context) []string {
	free := []string{ScopeSubscriptionsWrite, ScopeRegistryRead}
	if set, err := c.profile.InForce(ctx); err == nil && set.NewDestination == registry.DestinationAtOnce {
		free = append(free, readScopes...)
	}
	return free
}

// clientKeys holds the proof of a client: a JWK set or where it is, the hash of a secret, its certificates, and the binding of its tokens.
type clientKeys struct {
	JWKS             string `json:"jwks,omitempty"`
	JWKSURI          string `json:"jwksUri,omitempty"`
	SecretHash       string `json:"secretHash,omitempty"`
	Subject          string `json:"certificateSubject,omitempty"`
	CertificateKeys  bool   `json:"certificateKeys,omitempty"`
	CertificateBound bool   `json:"certificateBound,omitempty"`
	DPoPBound        bool   `json:"dpopBound,omitempty"`
}

func clientKeysOf(c store.Client) clientKeys {
	return clientKeys{c.JWKS, c.JWKSURI, c.SecretHash, c.CertificateSubject, c.CertificateKeys, c.CertificateBound, c.DPoPBound}
}

func (k clientKeys) give(c *store.Client) {
	c.JWKS, c.JWKSURI, c.SecretHash = k.JWKS, k.JWKSURI, k.SecretHash
	c.CertificateSubject, c.CertificateKeys, c.CertificateBound, c.DPoPBound = k.Subject, k.CertificateKeys, k.CertificateBound, k.DPoPBound
}

// AskedKeys returns the client with the keys that it asked for, where some wait.
func AskedKeys(c store.Client) store.Client {
	if c.RequestedKeys == "" {
		return c
	}
	var k clientKeys
	if json.Unmarshal([]byte(c.RequestedKeys), &k) == nil {
		k.give(&c)
	}
	return c
}

// RequestedKeys describes in what the keys that wait differ from those that count; empty when none wait.
func RequestedKeys(c store.Client) i18n.Message {
	if c.RequestedKeys == "" {
		return ""
	}
	asked := AskedKeys(c)
	var all i18n.Message
	add := func(one i18n.Message) {
		if all == "" {
			all = one
		} else {
			all = i18n.M("identity.asked-keys.and", all, one)
		}
	}
	for _, change := range proofChanges(c, asked) {
		add(change.Line())
	}
	switch {
	case asked.JWKSURI == c.JWKSURI && asked.JWKS == c.JWKS:
	case asked.JWKSURI == "" && asked.JWKS == "":
		add("identity.asked-keys.none")
	case asked.JWKSURI == "" && c.JWKSURI == "":
		for _, one := range keyChanges(token.KeyNames(c.JWKS), token.KeyNames(asked.JWKS)) {
			add(one)
		}
	default:
		add(KeysText(asked))
	}
	if asked.SecretHash != c.SecretHash {
		add("identity.asked-keys.secret")
	}
	return all
}

// keyChanges names the keys that are added and those that are removed, or all where the set alone is written otherwise.
func keyChanges(was, is []string) (list []i18n.Message) {
	missing := func(from, of []string) string {
		left := slices.DeleteFunc(slices.Clone(of), func(name string) bool { return slices.Contains(from, name) })
		return strings.Join(left, ", ")
	}
	if added := missing(was, is); added != "" {
		list = append(list, i18n.M("identity.asked-keys.added", added))
	}
	if removed := missing(is, was); removed != "" {
		list = append(list, i18n.M("identity.asked-keys.removed", removed))
	}
	if len(list) == 0 {
		list = append(list, i18n.M("identity.asked-keys.given", strings.Join(is, ", ")))
	}
	return list
}

// KeysText names the public keys of a client by their thumbprints, or by where they are; empty when it has none.
func KeysText(c store.Client) i18n.Message {
	switch {
	case c.JWKSURI != "":
		return i18n.M("identity.asked-keys.at", c.JWKSURI)
	case c.JWKS != "":
		return i18n.M("identity.asked-keys.given", strings.Join(token.KeyNames(c.JWKS), ", "))
	}
	return ""
}

// proofChanges lists in what two states of a client differ besides their keys: the certificates that count, and what binds tokens.
func proofChanges(before, after store.Client) []registry.Change {
	return registry.Differences(
		registry.ChangeOf("identity.mail.part-subject", before.CertificateSubject, after.CertificateSubject),
		registry.Change{What: "identity.mail.part-bound", From: yesNo(before.CertificateBound), To: yesNo(after.CertificateBound)},
		registry.Change{What: "identity.mail.part-dpop", From: yesNo(before.DPoPBound), To: yesNo(after.DPoPBound)},
		registry.Change{What: "identity.mail.part-certificate-keys", From: yesNo(before.CertificateKeys), To: yesNo(after.CertificateKeys)},
	)
}

// Decides reports whether what an actor gives a client counts at once: an administrator's does, unless two people must approve it.
func (c *Clients) Decides(ctx context.Context, actor registry.Actor) bool {
	if !actor.Administrator || actor.Kind != registry.ActorAccount {
		return actor.Administrator
	}
	set, err := c.profile.InForce(ctx)
	return err == nil && set.TwoApprovals != registry.PolicyOn && registry.Allows(actor.Role, registry.DecideApprovals)
}

// KeysWait reports whether other keys that an actor gives a client wait for an administrator.
func (c *Clients) KeysWait(ctx context.Context, actor registry.Actor, client store.Client) bool {
	free := c.FreeScopes(ctx)
	held := func(scope string) bool { return client.Scopes.Contains(scope) && !slices.Contains(free, scope) }
	return !c.Decides(ctx, actor) && slices.ContainsFunc(readScopes, held)
}

// holdKeys makes keys that client has other than before wait for an administrator, where they must.
func (c *Clients) holdKeys(ctx context.Context, actor registry.Actor, before store.Client, client *store.Client) error {
	now, was := clientKeysOf(*client), clientKeysOf(before)
	if now == was && c.Decides(ctx, actor) {
		return nil // who changes something else decides nothing about keys that wait
	}
	client.RequestedKeys = ""
	if now == was || !c.KeysWait(ctx, actor, before) {
		return nil
	}
	text, err := json.Marshal(now)
	if err != nil {
		return fmt.Errorf("write keys that wait: %w", err)
	}
	client.RequestedKeys = string(text)
	was.give(client)
	return nil
}
