package partners

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

const (
	// proveEvery sets how often a challenge is asked for.
	proveEvery = 5 * time.Minute
	// provePatience bounds the wait for one answer.
	provePatience = 10 * time.Second
	// mostChallenge bounds the answer to a challenge, in bytes.
	mostChallenge = 1 << 10
)

// ProveDue asks for the challenges that are due, applies what was proved, and ends what waited for too long. Each is asked for by one node at a time.
func (e *Endpoints) ProveDue(ctx context.Context) error {
	now := e.cfg.Now()
	since := store.At(now.Add(-proveEvery))
	due, err := e.cfg.DB.HasMovesDue(ctx, store.At(now), since)
	if err != nil || !due {
		return registry.Wrap("look for changed destinations", err)
	}
	var claimed []store.EndpointMove
	err = e.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
		expired, err := tx.ExpireEndpointMoves(ctx)
		if err != nil {
			return fmt.Errorf("end changed destinations: %w", err)
		}
		for i := range expired {
			if err := e.noteExpired(ctx, tx, &expired[i]); err != nil {
				return err
			}
		}
		claimed, err = tx.ClaimEndpointMoves(ctx, since)
		return registry.Wrap("claim changed destinations", err)
	})
	var failed []error
	for _, m := range claimed {
		failed = append(failed, e.prove(ctx, m))
	}
	return errors.Join(err, errors.Join(failed...))
}

// Prove asks for the challenge of a change now, for who controls the host and made the answer.
func (e *Endpoints) Prove(ctx context.Context, actor registry.Actor, endpointID, moveID string) error {
	var due store.EndpointMove
	err := e.decideMove(ctx, actor, endpointID, moveID, func(tx *store.Tx, _ *store.Endpoint, m *store.EndpointMove) error {
		if m.Mode != store.MoveProof {
			return registry.Conflict("partners.move.needs-approval")
		}
		due = *m
		return tx.NoteMoveTried(ctx, m.ID, m.Tried)
	})
	if err != nil {
		return err
	}
	return e.prove(ctx, due)
}

// prove asks the new hosts of a change for its challenge, and applies it when all of them answer.
func (e *Endpoints) prove(ctx context.Context, m store.EndpointMove) error {
	endpoint, err := e.cfg.DB.Endpoint(ctx, m.EndpointID)
	if err != nil {
		return registry.Found("endpoint", err)
	}
	tried := i18n.Message("")
	for _, origin := range newOrigins(endpoint, m.URL, m.TokenURL) {
		if tried = e.askChallenge(ctx, origin, m.Challenge); tried != "" {
			break
		}
	}
	return e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		endpoint, err := registry.Locked(ctx, tx, "endpoint", "endpoint", m.EndpointID, tx.Endpoint)
		if err != nil {
			return err
		}
		now, err := tx.EndpointMove(ctx, m.EndpointID)
		if err != nil || now.ID != m.ID || !now.WaitsAt(tx.Now) {
			return registry.Wrap("find changed destination", err) // it was withdrawn meanwhile
		}
		if tried != "" {
			return registry.Wrap("note try of challenge", tx.NoteMoveTried(ctx, m.ID, string(tried)))
		}
		if err := tx.NoteMoveTried(ctx, m.ID, "partners.move.tried-right"); err != nil {
			return err
		}
		return e.applyMove(ctx, tx, registry.SystemActor(), &endpoint, &now)
	})
}

// askChallenge asks one host for a challenge; empty when it answers it, else what is wrong.
func (e *Endpoints) askChallenge(ctx context.Context, origin, challenge string) i18n.Message {
	if e.cfg.ChallengeHTTP == nil {
		return "partners.move.tried-never"
	}
	ctx, cancel := context.WithTimeout(ctx, provePatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, origin+ChallengePath+challenge, nil)
	if err != nil {
		return i18n.M("partners.move.tried-unreachable", origin)
	}
	answer, err := e.cfg.ChallengeHTTP.Do(request)
	if err != nil {
		return i18n.M("partners.move.tried-unreachable", origin)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return i18n.M("partners.move.tried-status", origin, answer.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostChallenge))
	if err != nil || strings.TrimSpace(string(text)) != challenge {
		return i18n.M("partners.move.tried-other", origin)
	}
	return ""
}

// ChallengeAddresses lists where a change that waits for proof must be answered.
func ChallengeAddresses(endpoint store.Endpoint, m store.EndpointMove) (list []string) {
	for _, origin := range newOrigins(endpoint, m.URL, m.TokenURL) {
		list = append(list, origin+ChallengePath+m.Challenge)
	}
	return list
}

// noteExpired tells of a change that waited for too long.
func (e *Endpoints) noteExpired(ctx context.Context, tx *store.Tx, m *store.EndpointMove) error {
	endpoint, err := tx.Endpoint(ctx, m.EndpointID)
	if err != nil {
		return registry.Found("endpoint", err)
	}
	what := registry.Details{"host": hostOf(m.URL), "from": m.AskedName, "state": m.Status}
	if err := registry.Record(ctx, tx, registry.SystemActor(), registry.ActionEndpointMoveEnded, endpointObject(endpoint), what); err != nil {
		return err
	}
	return e.mailMoveEnded(ctx, tx, endpoint, *m)
}

// mailMoveEnded tells the people of a partner that a change does not take effect.
func (e *Endpoints) mailMoveEnded(ctx context.Context, tx *store.Tx, endpoint store.Endpoint, m store.EndpointMove) error {
	if m.Status == store.MoveWithdrawn {
		return nil
	}
	owner, err := tx.Partner(ctx, endpoint.PartnerID)
	if err != nil {
		return registry.Found("partner", err)
	}
	letter := e.cfg.Letter(i18n.M("partners.mail.move-ended-subject", endpoint.Name), registry.PartnerPath(owner)+"/endpoints/"+endpoint.ID+"/move",
		i18n.M("partners.mail.move-ended", endpoint.Name, addressText(m.URL), addressText(endpoint.URL)), i18n.Word("partners.mail.move-why", m.Status), registry.Because(m.Outcome)).Of(owner.ID)
	if owner.Own {
		return e.cfg.MailAdministrators(ctx, tx, letter)
	}
	return e.cfg.MailManagers(ctx, tx, endpoint.PartnerID, letter)
}
