package partners

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// A changed destination of a webhook waits by setting (sending.new_destination), while deliveries go on to the old one:
//
//	            ┌─approve─▶ done       by somebody of the organisation, or once the new host answers the challenge
//	waiting ────┼─decline─▶ declined   by somebody of the organisation, with a reason
//	            ├─withdraw▶ withdrawn  by the partner, or by its next change, or with the endpoint
//	            ├─time────▶ expired    after MoveAge
//	            └─────────▶ stale      when the destination was changed in another way
//
// The destination is the address of the endpoint and that of its token endpoint; what proves us there goes with it. The rest of a change takes
// effect at once. A challenge is a random text, which the new host answers at ChallengePath. It shows that whoever made the change controls the host,
// so that nobody has us send to a stranger, by mistake or to harm; who took over a partner's account controls a host of its own, and only an
// approval helps against that. The handshake of the CloudEvents webhook specification was not taken: it asks a receiver whether it wants events,
// which a host of whoever made the change answers just as well, and token endpoints do not know it.

// MoveAge is the time after which a change that waits expires.
const MoveAge = 7 * 24 * time.Hour

// ChallengePath is the path below which a new host answers a challenge, followed by the challenge.
const ChallengePath = "/.well-known/schakel-challenge/"

// ConfirmMove names the approval of a changed destination, which may wait for a second person.
const ConfirmMove = "endpoint.move"

// origins lists the hosts that a destination needs: those of its address and of its token endpoint.
func origins(url, tokenURL string) (list []string) {
	for _, raw := range []string{url, tokenURL} {
		if raw != "" {
			list = append(list, registry.Origin(raw))
		}
	}
	return list
}

// newOrigins lists the hosts of a destination that are none of the one before.
func newOrigins(before store.Endpoint, url, tokenURL string) (list []string) {
	known := strings.Join(origins(before.URL, before.TokenURL), " ") + " "
	for _, origin := range origins(url, tokenURL) {
		if !strings.Contains(known, origin+" ") {
			list, known = append(list, origin), known+origin+" "
		}
	}
	return list
}

// waitsAs returns the mode in which a change of an endpoint waits; empty when it counts at once. Another name at the same token endpoint is another
// destination too, since a host that serves many can tell by it whose an event is, and so is any other proof of ours there, which no
// challenge shows.
func (e *Endpoints) waitsAs(ctx context.Context, actor registry.Actor, before, after store.Endpoint) (string, error) {
	moved := before.URL != after.URL || before.TokenURL != after.TokenURL
	if before.Kind != store.EndpointWebhook || !moved && !e.asOther(before, after) || actor.Kind == registry.ActorSystem {
		return "", nil
	}
	mode, err := e.WaitMode(ctx, actor)
	if mode == store.MoveProof && len(newOrigins(before, after.URL, after.TokenURL)) == 0 {
		mode = ""
	}
	return mode, err
}

// WaitMode returns the mode in which other destinations by an actor wait, those at a new host alone when for proof; empty when they count at once.
func (e *Endpoints) WaitMode(ctx context.Context, actor registry.Actor) (string, error) {
	set, err := e.profile.InForce(ctx)
	if err != nil {
		return "", fmt.Errorf("read whether a destination waits: %w", err)
	}
	switch set.NewDestination {
	case registry.DestinationApproval:
		// Who may approve has approved it, unless two people must.
		if actor.Administrator && registry.Allows(actor.Role, registry.DecideApprovals) && set.TwoApprovals != registry.PolicyOn {
			return "", nil
		}
		return store.MoveApproval, nil
	case registry.DestinationProof:
		return store.MoveProof, nil
	}
	return "", nil
}

// asOther reports whether an endpoint is shown to be sent to by another than before. A secret that was typed again is the same one.
func (e *Endpoints) asOther(before, after store.Endpoint) bool {
	if before.TokenClientID != after.TokenClientID || before.TokenAuthMethod != after.TokenAuthMethod || before.TokenScope != after.TokenScope ||
		!sameCertificates(before, after) {
		return true
	}
	if before.TokenSecret == after.TokenSecret {
		return false
	}
	was, err := e.TokenSecret(before)
	is, failed := e.TokenSecret(after)
	return err != nil || failed != nil || was != is
}

// holdMove keeps the destination of a changed endpoint until it is approved or proved, gives the endpoint back the one before, and mails the
// difference to those who are mailed about every change.
func (e *Endpoints) holdMove(ctx context.Context, tx *store.Tx, actor registry.Actor, mode string, before store.Endpoint, after *store.Endpoint) error {
	fingerprints, err := e.destinationsOf(before)
	if err != nil {
		return err
	}
	m := store.EndpointMove{
		EndpointID: before.ID, PartnerID: before.PartnerID, Mode: mode, URL: after.URL, TokenURL: after.TokenURL, TokenClientID: after.TokenClientID,
		TokenSecret: after.TokenSecret, TokenScope: after.TokenScope, TokenAuthMethod: after.TokenAuthMethod, Certificates: after.Certificates,
		Fingerprint: fingerprints[0], AskedBy: actor.ID, AskedName: actor.Name, ExpiresAt: store.At(tx.Now.Add(MoveAge)),
	}
	if mode == store.MoveProof {
		m.Challenge = rand.Text()
	}
	if err := tx.InsertEndpointMove(ctx, &m); err != nil {
		return fmt.Errorf("keep changed destination: %w", err)
	}
	what := registry.Details{"host": EndpointHost(*after), "hostBefore": EndpointHost(before), "mode": mode}
	if err := registry.Record(ctx, tx, actor, registry.ActionEndpointMoveAsked, endpointObject(before), what); err != nil {
		return err
	}
	subject := moveApprovalSubject
	if mode == store.MoveProof {
		subject = "partners.mail.move-proof-subject"
	}
	if err := e.mailRedirected(ctx, tx, actor, before, *after, subject, "/move"); err != nil {
		return err
	}
	after.URL, after.TokenURL, after.TokenClientID, after.TokenSecret = before.URL, before.TokenURL, before.TokenClientID, before.TokenSecret
	after.TokenScope, after.TokenAuthMethod, after.Certificates = before.TokenScope, before.TokenAuthMethod, before.Certificates
	return nil
}

// destinationsOf lists the fingerprints of where an endpoint sends to, and of what proves us there: that of now, and those of before each change of
// the key, as a secret stands in them as a proof of it.
func (e *Endpoints) destinationsOf(endpoint store.Endpoint) (fingerprints []string, err error) {
	list, err := Certificates(endpoint)
	if err != nil {
		return nil, err
	}
	secret, err := e.TokenSecret(endpoint)
	if err != nil {
		return nil, err
	}
	parts := []any{endpoint.URL, endpoint.TokenURL, endpoint.TokenClientID, endpoint.TokenAuthMethod, endpoint.TokenScope}
	for _, c := range list {
		parts = append(parts, c.ID)
	}
	for _, proof := range e.cfg.Vault.ProveStored(endpointSecretPurpose + " " + endpoint.ID + " " + secret) {
		fingerprint, err := registry.Fingerprint(append(parts, proof)...)
		if err != nil {
			return nil, err
		}
		fingerprints = append(fingerprints, fingerprint)
	}
	return fingerprints, nil
}

// Move finds the last change of the destination of an endpoint that waits or waited, as it is now. ok is false when there never was one.
func (e *Endpoints) Move(ctx context.Context, scope registry.Scope, endpointID string) (m store.EndpointMove, ok bool, err error) {
	if _, err := e.Get(ctx, scope, endpointID); err != nil {
		return m, false, err
	}
	m, err = e.cfg.DB.EndpointMove(ctx, endpointID)
	if errors.Is(err, store.ErrNotFound) {
		return m, false, nil
	}
	if m.Status == store.MoveWaiting && !m.WaitsAt(store.At(e.cfg.Now())) {
		m.Status = store.MoveExpired
	}
	return m, err == nil, registry.Wrap("find changed destination", err)
}

// MovesToApprove lists the changes that wait for somebody of the organisation.
func (e *Endpoints) MovesToApprove(ctx context.Context, actor registry.Actor) ([]store.EndpointMove, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return nil, err
	}
	rows, err := e.cfg.DB.MovesToApprove(ctx, store.At(e.cfg.Now()))
	return rows, registry.Wrap("list changed destinations", err)
}

// ApproveMove has an endpoint send to its new destination, which was shown with the id of the change.
func (e *Endpoints) ApproveMove(ctx context.Context, actor registry.Actor, endpointID, moveID string) error {
	if err := errors.Join(actor.RequireAdministrator(), actor.Require(registry.DecideApprovals)); err != nil {
		return err
	}
	endpoint, err := e.Get(ctx, actor.Scope(), endpointID)
	if err != nil {
		return err
	}
	return e.cfg.Hold(ctx, actor, registry.Ask{
		Kind: registry.TwoApprovals, Action: ConfirmMove, Object: endpointObject(endpoint), Args: moveID, Lock: "endpoint",
		Describe: func(ctx context.Context) ([]i18n.Message, string, error) {
			m, err := e.cfg.DB.EndpointMove(ctx, endpointID)
			if err != nil {
				return nil, "", registry.Found("endpoint", err)
			}
			return describeMove(endpoint, m), m.ID + m.Status, nil
		},
	}, func(ctx context.Context) error {
		return e.decideMove(ctx, actor, endpointID, moveID, func(tx *store.Tx, endpoint *store.Endpoint, m *store.EndpointMove) error {
			if m.Mode != store.MoveApproval {
				return registry.Conflict("partners.move.needs-proof")
			}
			return e.applyMove(ctx, tx, actor, endpoint, m)
		})
	})
}

// describeMove tells a second person what a change is about: where to, and all that differs.
func describeMove(endpoint store.Endpoint, m store.EndpointMove) []i18n.Message {
	was, to := addressText(endpoint.URL), addressText(m.URL)
	lines := []i18n.Message{i18n.M("partners.confirm.move", endpoint.Name, was, to)}
	if was == to {
		lines = []i18n.Message{i18n.M("partners.confirm.move-same", endpoint.Name, to)}
	}
	lines = append(lines, i18n.M("partners.confirm.move-token", addressText(m.TokenURL)))
	for _, change := range destinationChanges(endpoint, Moved(endpoint, m)) {
		if change.What != "partners.mail.part-address" {
			lines = append(lines, change.Line())
		}
	}
	return append(lines, i18n.M("partners.confirm.move-by", m.AskedName))
}

// Moved is an endpoint as a change of its destination makes it.
func Moved(e store.Endpoint, m store.EndpointMove) store.Endpoint {
	e.URL, e.TokenURL, e.TokenClientID, e.TokenSecret = m.URL, m.TokenURL, m.TokenClientID, m.TokenSecret
	e.TokenScope, e.TokenAuthMethod, e.Certificates = m.TokenScope, m.TokenAuthMethod, m.Certificates
	return e
}

// DeclineMove leaves an endpoint as it is, with a reason for its partner.
func (e *Endpoints) DeclineMove(ctx context.Context, actor registry.Actor, endpointID, moveID, reason string) error {
	if err := errors.Join(actor.RequireAdministrator(), actor.Require(registry.DecideApprovals)); err != nil {
		return err
	}
	if err := registry.CheckReason(reason, true); err != nil {
		return err
	}
	return e.decideMove(ctx, actor, endpointID, moveID, func(tx *store.Tx, endpoint *store.Endpoint, m *store.EndpointMove) error {
		return e.endMove(ctx, tx, actor, *endpoint, m, store.MoveDeclined, strings.TrimSpace(reason))
	})
}

// WithdrawMove takes a change back.
func (e *Endpoints) WithdrawMove(ctx context.Context, actor registry.Actor, endpointID, moveID string) error {
	return e.decideMove(ctx, actor, endpointID, moveID, func(tx *store.Tx, endpoint *store.Endpoint, m *store.EndpointMove) error {
		return e.endMove(ctx, tx, actor, *endpoint, m, store.MoveWithdrawn, "")
	})
}

// decideMove finds the change of an endpoint that waits, and decides about it. When it became another one nothing is decided.
func (e *Endpoints) decideMove(ctx context.Context, actor registry.Actor, endpointID, moveID string, decide func(*store.Tx, *store.Endpoint, *store.EndpointMove) error) error {
	_, err := e.change(ctx, actor, endpointID, func(tx *store.Tx, endpoint *store.Endpoint) error {
		m, err := tx.EndpointMove(ctx, endpointID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("find changed destination: %w", err)
		}
		if err != nil || !m.WaitsAt(tx.Now) || m.ID != moveID {
			return registry.Conflict("partners.move.over")
		}
		return decide(tx, endpoint, &m)
	})
	return err
}

// applyMove has an endpoint send to its new destination, unless the one before was changed in another way.
func (e *Endpoints) applyMove(ctx context.Context, tx *store.Tx, actor registry.Actor, endpoint *store.Endpoint, m *store.EndpointMove) error {
	fingerprints, err := e.destinationsOf(*endpoint)
	if err != nil {
		return err
	}
	if !slices.Contains(fingerprints, m.Fingerprint) || endpoint.Status == store.EndpointEnded {
		return e.endMove(ctx, tx, actor, *endpoint, m, store.MoveStale, "partners.move.stale")
	}
	before := *endpoint
	*endpoint = Moved(before, *m)
	if err := tx.UpdateEndpoint(ctx, endpoint); err != nil {
		return fmt.Errorf("move endpoint: %w", err)
	}
	if err := beginAnew(ctx, tx, before, endpoint); err != nil {
		return err
	}
	m.Status, m.DecidedName = store.MoveDone, actor.Name
	if err := tx.DecideEndpointMove(ctx, m); err != nil {
		return err
	}
	what := registry.Details{"host": EndpointHost(*endpoint), "hostBefore": EndpointHost(before), "from": m.AskedName}
	if err := registry.Record(ctx, tx, actor, registry.ActionEndpointMoved, endpointObject(*endpoint), what); err != nil {
		return err
	}
	asker := registry.Actor{Kind: registry.ActorAccount, ID: m.AskedBy, Name: m.AskedName}
	return e.mailRedirected(ctx, tx, asker, before, *endpoint, "partners.mail.redirected-subject", "")
}

// endMove writes that a change does not take effect, and mails the people of the partner.
func (e *Endpoints) endMove(ctx context.Context, tx *store.Tx, actor registry.Actor, endpoint store.Endpoint, m *store.EndpointMove, status, reason string) error {
	m.Status, m.DecidedName, m.Outcome = status, actor.Name, reason
	if err := tx.DecideEndpointMove(ctx, m); err != nil {
		return err
	}
	what := registry.Details{"host": hostOf(m.URL), "from": m.AskedName, "state": status, "reason": reason}
	if err := registry.Record(ctx, tx, actor, registry.ActionEndpointMoveEnded, endpointObject(endpoint), what); err != nil {
		return err
	}
	return e.mailMoveEnded(ctx, tx, endpoint, *m)
}
