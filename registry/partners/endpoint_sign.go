package partners

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// signKeyPurpose binds the sealed keys that sign requests to their use.
const signKeyPurpose = "endpoint-sign-key"

// Bounds of the time in which two keys sign, in hours.
const (
	DefaultOverlapHours = 7 * 24
	mostOverlapHours    = 90 * 24
)

// SignKey is a key that signs requests to an endpoint. Secret is set where it was opened: the key of HMAC, or the seed of Ed25519.
type SignKey struct {
	ID        string     `json:"id"`
	Algorithm string     `json:"algorithm"`
	Sealed    string     `json:"sealed"`
	CreatedAt store.Time `json:"createdAt"`
	RetiresAt store.Time `json:"retiresAt,omitzero"` // when it stops signing; zero for the newest
	Secret    []byte     `json:"-"`
}

// SigningInput sets how requests to an endpoint are signed.
type SigningInput struct {
	Scheme       string // one of the schemes of store
	Algorithm    string // store.SignHMAC or store.SignEd25519
	OverlapHours int64  // in which the key before signs too, 0 to 2160
}

// SignKeys opens the keys that sign requests to an endpoint at a moment, newest first.
func (e *Endpoints) SignKeys(endpoint store.Endpoint, now time.Time) ([]SignKey, error) {
	keys, err := readSignKeys(endpoint)
	if err != nil {
		return nil, err
	}
	keys = slices.DeleteFunc(keys, func(k SignKey) bool { return !k.RetiresAt.IsZero() && !now.Before(k.RetiresAt.Time) })
	for i := range keys {
		if keys[i].Secret, err = e.cfg.Vault.Open(signKeyPurpose, keys[i].Sealed); err != nil {
			return nil, fmt.Errorf("open signing key of endpoint: %w", err)
		}
	}
	return keys, nil
}

func readSignKeys(endpoint store.Endpoint) (keys []SignKey, err error) {
	if endpoint.SignScheme == store.SignNone || endpoint.SignKeys == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(endpoint.SignKeys), &keys); err != nil {
		return nil, fmt.Errorf("read signing keys of endpoint: %w", err)
	}
	return keys, nil
}

// SetSigning changes how requests to an endpoint are signed. Where that needs a new key, it returns it opened: the only time that a secret can
// be seen. Fields: scheme, algorithm, overlapHours.
func (e *Endpoints) SetSigning(ctx context.Context, actor registry.Actor, id string, in SigningInput) (store.Endpoint, *SignKey, error) {
	wrong := registry.Problems{}
	wrong.AddIf(!slices.Contains([]string{store.SignNone, store.SignStandard, store.SignMessage}, in.Scheme), "scheme", "partners.sign.scheme-bad")
	wrong.AddIf(in.Scheme != store.SignNone && in.Algorithm != store.SignHMAC && in.Algorithm != store.SignEd25519, "algorithm", "partners.sign.algorithm-bad")
	registry.CheckBetween(wrong, "overlapHours", in.OverlapHours, 0, mostOverlapHours)
	if err := wrong.Err(); err != nil {
		return store.Endpoint{}, nil, err
	}
	return e.sign(ctx, actor, id, func(now time.Time, endpoint *store.Endpoint, keys []SignKey) ([]SignKey, *SignKey, error) {
		if in.Scheme == store.SignStandard && endpoint.ContentMode == registry.ModeBinary {
			return nil, nil, registry.Invalid(registry.Problems{"scheme": "partners.sign.binary"})
		}
		endpoint.SignScheme, endpoint.SignOverlapHours = in.Scheme, in.OverlapHours
		if in.Scheme == store.SignNone {
			return nil, nil, nil
		}
		if len(keys) > 0 && keys[0].Algorithm == in.Algorithm {
			return keys, nil, nil
		}
		keys, made := e.addKey(now, keys, in)
		return keys, made, nil
	})
}

// RotateSignKey makes another key to sign with. The one before signs too until the overlap is over; any older one ends now.
func (e *Endpoints) RotateSignKey(ctx context.Context, actor registry.Actor, id string) (store.Endpoint, *SignKey, error) {
	return e.sign(ctx, actor, id, func(now time.Time, endpoint *store.Endpoint, keys []SignKey) ([]SignKey, *SignKey, error) {
		if len(keys) == 0 {
			return nil, nil, registry.Conflict("partners.sign.off")
		}
		keys, made := e.addKey(now, keys, SigningInput{Algorithm: keys[0].Algorithm, OverlapHours: endpoint.SignOverlapHours})
		return keys, made, nil
	})
}

// RotateDue makes another Ed25519 key for each endpoint whose own has signed for so long, once: the endpoint is locked meanwhile. Both sign for the
// overlap of the endpoint, but for a week at least, in which its receiver takes the new public key. A secret of HMAC only its maker is
// shown, so none is made here. 0 is never. It returns the endpoints whose key was replaced, also when others failed.
func (e *Endpoints) RotateDue(ctx context.Context, every time.Duration) (replaced []store.Endpoint, err error) {
	if every <= 0 {
		return nil, nil
	}
	ids, err := e.cfg.DB.EndpointsSigned(ctx)
	if err != nil {
		return nil, fmt.Errorf("list endpoints with keys: %w", err)
	}
	for _, id := range ids {
		endpoint, _, failure := e.sign(ctx, registry.SystemActor(), id, func(now time.Time, endpoint *store.Endpoint, keys []SignKey) ([]SignKey, *SignKey, error) {
			if len(keys) == 0 || keys[0].Algorithm != store.SignEd25519 || now.Before(keys[0].CreatedAt.Add(every)) {
				return nil, nil, errNotDue
			}
			keys, made := e.addKey(now, keys, SigningInput{Algorithm: store.SignEd25519, OverlapHours: max(endpoint.SignOverlapHours, DefaultOverlapHours)})
			return keys, made, nil
		})
		switch {
		case failure == nil:
			replaced = append(replaced, endpoint)
		case !errors.Is(failure, errNotDue):
			err = errors.Join(err, fmt.Errorf("replace the key of endpoint %s: %w", id, failure))
		}
	}
	return replaced, err
}

// errNotDue leaves a key as it is.
var errNotDue = errors.New("the key is not old enough")

// addKey puts a new key before the one that signs now.
func (e *Endpoints) addKey(now time.Time, keys []SignKey, in SigningInput) ([]SignKey, *SignKey) {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails: see crypto/rand
	made := SignKey{
		ID: e.cfg.DB.NewID("whk"), Algorithm: in.Algorithm, Sealed: e.cfg.Vault.Seal(signKeyPurpose, secret), CreatedAt: store.At(now), Secret: secret,
	}
	all := []SignKey{made}
	if len(keys) > 0 && in.OverlapHours > 0 {
		before := keys[0]
		before.RetiresAt = store.At(now.Add(time.Duration(in.OverlapHours) * time.Hour))
		all = append(all, before)
	}
	return all, &made
}

// sign changes the signing of an endpoint, records it, and mails it.
func (e *Endpoints) sign(ctx context.Context, actor registry.Actor, id string,
	change func(now time.Time, endpoint *store.Endpoint, keys []SignKey) ([]SignKey, *SignKey, error),
) (store.Endpoint, *SignKey, error) {
	var made *SignKey
	endpoint, err := e.change(ctx, actor, id, func(tx *store.Tx, endpoint *store.Endpoint) error {
		if endpoint.Kind != store.EndpointWebhook || endpoint.Status == store.EndpointEnded {
			return registry.Conflict("partners.sign.nothing-sent")
		}
		before := *endpoint
		keys, err := readSignKeys(*endpoint)
		if err != nil {
			return err
		}
		if keys, made, err = change(tx.Now.Time, endpoint, keys); err != nil {
			return err
		}
		endpoint.SignKeys = ""
		if len(keys) > 0 {
			text, err := json.Marshal(keys)
			if err != nil {
				return fmt.Errorf("write signing keys: %w", err)
			}
			endpoint.SignKeys = string(text)
		}
		if err := tx.UpdateEndpoint(ctx, endpoint); err != nil {
			return fmt.Errorf("update endpoint: %w", err)
		}
		what := registry.Details{"signing": endpoint.SignScheme}
		if made != nil {
			what["key"] = made.ID
		}
		if err := registry.Record(ctx, tx, actor, registry.ActionEndpointSigning, endpointObject(*endpoint), what); err != nil {
			return err
		}
		return e.mailSigning(ctx, tx, actor, before, *endpoint, made)
	})
	return endpoint, made, err
}

// mailSigning tells the people of a partner and the administrators that requests are signed in another way, or with another key.
func (e *Endpoints) mailSigning(ctx context.Context, tx *store.Tx, actor registry.Actor, before, after store.Endpoint, made *SignKey) error {
	owner, err := tx.Partner(ctx, after.PartnerID)
	if err != nil {
		return registry.Found("partner", err)
	}
	changes := registry.Differences(registry.ChangeOf("partners.mail.part-sign-scheme", before.SignScheme, after.SignScheme))
	if made != nil && before.SignScheme != store.SignNone {
		changes = append(changes, registry.Change{What: "partners.mail.part-sign-key", Replaced: true})
	}
	return e.cfg.MailChange(ctx, tx, actor, after.PartnerID, i18n.M("partners.mail.redirected-subject", after.Name, owner.Name),
		registry.ChangePages{Administrator: "/admin/endpoints/" + after.ID, Partner: registry.PartnerPath(owner) + "/endpoints/" + after.ID}, changes)
}
