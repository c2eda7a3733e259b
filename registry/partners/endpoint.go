package partners

import (
	"context"
	"fmt"
	"slices"

	"schakel/registry"
	"schakel/store"
)

// endpointSecretPurpose binds the sealed secrets of endpoints to their use.
const endpointSecretPurpose = "endpoint-token-secret"

// endpointKinds are the kinds a partner can ask for.
func endpointKinds() []string {
	return []string{store.EndpointWebhook, store.EndpointPull, store.EndpointAMQP, store.EndpointFiles}
}

// Endpoints manages the endpoints of partners.
type Endpoints struct {
	cfg            registry.Config
	contracts      ContractDocuments
	keepRecipients RecipientKeeper
	profile        registry.ProfileSource
}

// ContractDocuments gives a version of a contract that a reader may see, with its document.
type ContractDocuments interface {
	Document(ctx context.Context, reader registry.Reader, id, version string) (store.ContractVersion, []byte, error)
}

// RecipientKeeper makes a change, and refuses it when an AMQP process would lose its last recipient by it.
type RecipientKeeper func(ctx context.Context, tx *store.Tx, actor registry.Actor, change func() error) error

// NewEndpoints makes the service.
func NewEndpoints(cfg registry.Config, contracts ContractDocuments, keepRecipients RecipientKeeper, profile registry.ProfileSource) *Endpoints {
	return &Endpoints{cfg, contracts, keepRecipients, profile}
}

// EndpointInput holds the input for an endpoint.
type EndpointInput struct {
	Name string
	Kind string // one of ServedKinds; it stays what it was
	// URL receives the events.
	URL         string
	ContentMode string // structured (the default) or binary
	// TokenURL, TokenClientID and TokenScope are for the access token we ask.
	TokenURL, TokenClientID, TokenScope string
	// TokenSecret is the client secret. It goes in and never comes out: empty on an update keeps what is there.
	TokenSecret string
	// TokenAuthMethod is none, client_secret_basic, client_secret_post or private_key_jwt (with the keys of our own JWKS).
	TokenAuthMethod string
	// Certificate is a client certificate to show to the receiver and its token endpoint, with its chain, and CertificateKey its key, both PEM. The key
	// never comes out. Empty on an update keeps what is there; another is added, and shown after CertificateWaitHours, 0 to 2160.
	Certificate, CertificateKey string
	CertificateWaitHours        int64
	RatePerSecond               int64 // 0 is no limit
	MaxConcurrency              int64 // 1 to 64; 0 is 16
	TimeoutSeconds              int64 // 1 to 60; 0 is 30
	// Windows say when events may be sent, as JSON of delivery/window; empty is at any time.
	Windows string
	// BatchEvents limits the events in one request, 2 to 1,000; 0 sends one by one (EDU-11).
	BatchEvents int64
	// BatchBytes bounds a batch, 65,538 to 16 MiB; 0 is 1 MiB.
	BatchBytes int64
	// BatchWaitSeconds limits the wait of a batch for more events, 0 to 60.
	BatchWaitSeconds int64
	// ContractID and ContractVersion name the OpenAPI contract of the receiver; batches need one that takes them.
	ContractID, ContractVersion string
	// BatchStated states, where no contract is named, that the receiver takes batches.
	BatchStated bool
}

// ShowsCertificate reports whether endpoints without a client certificate of their own are shown that of the organisation.
func (e *Endpoints) ShowsCertificate() bool { return e.cfg.ShowsCertificate }

// ServedKinds lists the kinds of endpoint that can be made here.
func (e *Endpoints) ServedKinds() []string { return slices.Clone(e.cfg.ServedKinds) }

// Create adds an endpoint (EDU-14). An administrator names the partner, or none for the own organisation. Fields: name, kind,
// url, contentMode, tokenUrl, tokenClientId, tokenSecret, tokenScope, tokenAuthMethod, certificate, certificateKey,
// certificateWaitHours, ratePerSecond, maxConcurrency,
// timeoutSeconds, windows, batchEvents, batchBytes, batchWaitSeconds, contractId, batchStated.
func (e *Endpoints) Create(ctx context.Context, actor registry.Actor, partnerID string, in EndpointInput) (store.Endpoint, error) {
	in = in.clean()
	var endpoint store.Endpoint
	if err := e.check(in, endpoint).Err(); err != nil {
		return endpoint, err
	}
	err := e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		owner, err := registry.OwnerFor(ctx, tx, actor, partnerID)
		if err != nil {
			return err
		}
		if err := e.checkContract(ctx, owner, &in); err != nil {
			return err
		}
		mine, err := tx.Endpoints(ctx, owner.ID)
		if err != nil {
			return fmt.Errorf("count endpoints: %w", err)
		}
		if err := registry.WithinMost(actor, "endpoints", len(mine)); err != nil {
			return err
		}
		if in.Kind == store.EndpointInbox && countInboxes(mine) >= maxInboxes {
			return registry.Conflict("partners.inbox.most", maxInboxes)
		}
		endpoint = store.Endpoint{PartnerID: owner.ID, Kind: in.Kind, Status: store.EndpointActive}
		e.apply(&endpoint, in)
		if err := e.addCertificate(&endpoint, in, tx.Now.Time); err != nil {
			return err
		}
		if err := tx.InsertEndpoint(ctx, &endpoint); err != nil {
			return fmt.Errorf("add endpoint: %w", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionEndpointCreated, endpointObject(endpoint), registry.Details{"host": EndpointHost(endpoint)})
	})
	return endpoint, err
}

// Update changes an endpoint. A changed destination may wait: then the endpoint keeps the one before. Fields: as Create.
func (e *Endpoints) Update(ctx context.Context, actor registry.Actor, id string, in EndpointInput) (store.Endpoint, error) {
	return e.change(ctx, actor, id, func(tx *store.Tx, endpoint *store.Endpoint) error {
		if endpoint.Status == store.EndpointEnded {
			return registry.Conflict("partners.endpoint.has-ended")
		}
		asked := in.clean()
		asked.Kind = endpoint.Kind
		if err := e.check(asked, *endpoint).Err(); err != nil {
			return err
		}
		if err := e.checkChangedContract(ctx, tx, *endpoint, &asked); err != nil {
			return err
		}
		before := *endpoint
		e.apply(endpoint, asked)
		if err := e.addCertificate(endpoint, asked, tx.Now.Time); err != nil {
			return err
		}
		mode, err := e.waitsAs(ctx, actor, before, *endpoint)
		if err != nil {
			return err
		}
		if mode != "" {
			if err := e.holdMove(ctx, tx, actor, mode, before, endpoint); err != nil {
				return err
			}
		}
		what := registry.Details{"host": EndpointHost(*endpoint), "hostBefore": EndpointHost(before)}.
			Changed(before, *endpoint, "url", "token_url", "token_secret", "certificates", "sign_keys")
		if fields, _ := what["fields"].([]string); mode != "" && len(fields) == 0 {
			return nil // all that was asked waits
		}
		if err := tx.UpdateEndpoint(ctx, endpoint); err != nil {
			return fmt.Errorf("update endpoint: %w", err)
		}
		if err := beginAnew(ctx, tx, before, endpoint); err != nil {
			return err
		}
		if err := registry.Record(ctx, tx, actor, registry.ActionEndpointUpdated, endpointObject(*endpoint), what); err != nil {
			return err
		}
		return e.mailRedirected(ctx, tx, actor, before, *endpoint, "partners.mail.redirected-subject", "")
	})
}

// checkChangedContract judges the contract again when it, or what rests on it, changed: one that was withdrawn meanwhile
// must not stand in the way of other changes.
func (e *Endpoints) checkChangedContract(ctx context.Context, tx *store.Tx, old store.Endpoint, in *EndpointInput) error {
	if in.ContractID == old.ContractID && in.ContractVersion == old.ContractVersion && (in.BatchEvents > 0) == (old.BatchEvents > 0) {
		return nil
	}
	owner, err := tx.Partner(ctx, old.PartnerID)
	if err != nil {
		return registry.Found("partner", err)
	}
	return e.checkContract(ctx, owner, in)
}

// TokenSecret opens the secret of an endpoint, for the engine that asks tokens.
func (e *Endpoints) TokenSecret(endpoint store.Endpoint) (string, error) {
	if endpoint.TokenSecret == "" {
		return "", nil
	}
	plain, err := e.cfg.Vault.Open(endpointSecretPurpose, endpoint.TokenSecret)
	return string(plain), err
}

// Get finds an endpoint within a scope.
func (e *Endpoints) Get(ctx context.Context, scope registry.Scope, id string) (store.Endpoint, error) {
	endpoint, err := e.cfg.DB.Endpoint(ctx, id)
	return registry.Visible(scope, "endpoint", endpoint, endpoint.PartnerID, err)
}

// List lists the endpoints of a partner that have not ended, newest first; for an administrator that names no partner, all.
func (e *Endpoints) List(ctx context.Context, scope registry.Scope, partnerID string) ([]store.Endpoint, error) {
	id, ok := scope.Narrow(partnerID)
	if !ok {
		return nil, nil
	}
	rows, err := e.cfg.DB.Endpoints(ctx, id)
	return rows, registry.Wrap("list endpoints", err)
}

// change reads an endpoint the actor may change and keeps others from changing it meanwhile.
func (e *Endpoints) change(ctx context.Context, actor registry.Actor, id string, fn func(*store.Tx, *store.Endpoint) error) (store.Endpoint, error) {
	var endpoint store.Endpoint
	err := e.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
		if endpoint, err = registry.Locked(ctx, tx, "endpoint", "endpoint", id, tx.Endpoint); err != nil {
			return err
		}
		if err := registry.AllowChange(ctx, tx, actor, "endpoint", endpoint.PartnerID); err != nil {
			return err
		}
		return fn(tx, &endpoint)
	})
	if err != nil {
		return store.Endpoint{}, err
	}
	return endpoint, nil
}

func endpointObject(e store.Endpoint) registry.Object {
	return registry.ObjectOf("endpoint", e.ID, e.Name, e.PartnerID)
}

// endpointMove gives the changes of state of an endpoint:
//
//	        ┌──pause───▶ paused ──────┐
//	active ◀┼──resume────┘            ├─end─▶ ended
//	  │     ├──suspend─▶ suspended ───┤
//	  │     └──release───┘            │
//	  └───────────────────────────────┘
//
// A partner pauses, and resumes what it paused itself. Only an administrator suspends, and resumes what an administrator paused;
// what the engine suspended, because the receiver refused us, the partner may release too.
func endpointMove(verb string) registry.Transition {
	open := []string{store.EndpointActive, store.EndpointPaused, store.EndpointSuspended}
	return map[string]registry.Transition{
		"pause":   {Action: registry.ActionEndpointPaused, From: open[:1], To: store.EndpointPaused},
		"resume":  {Action: registry.ActionEndpointResumed, From: open[1:2], To: store.EndpointActive},
		"suspend": {Action: registry.ActionEndpointSuspended, From: open[:2], To: store.EndpointSuspended, Admin: true, Reason: true},
		"release": {Action: registry.ActionEndpointReleased, From: open[2:], To: store.EndpointActive, Admin: true},
		"end":     {Action: registry.ActionEndpointEnded, From: open, To: store.EndpointEnded},
	}[verb].Named(verb)
}

// Pause stops sending to an endpoint; what is for it waits.
func (e *Endpoints) Pause(ctx context.Context, actor registry.Actor, id, reason string) error {
	return e.move(ctx, actor, id, "pause", reason)
}

// Resume starts sending again after a pause or a suspension. A partner may when it was not an administrator's.
func (e *Endpoints) Resume(ctx context.Context, actor registry.Actor, id string) error {
	endpoint, err := e.Get(ctx, actor.Scope(), id)
	if err != nil {
		return err
	}
	if endpoint.Status == store.EndpointSuspended {
		return e.move(ctx, actor, id, "release", "")
	}
	return e.move(ctx, actor, id, "resume", "")
}

// Suspend stops sending until an administrator resumes it; the partner is told the reason.
func (e *Endpoints) Suspend(ctx context.Context, actor registry.Actor, id, reason string) error {
	return e.move(ctx, actor, id, "suspend", reason)
}

// End ends an endpoint and its subscriptions for good.
func (e *Endpoints) End(ctx context.Context, actor registry.Actor, id, reason string) error {
	return e.move(ctx, actor, id, "end", reason)
}

func (e *Endpoints) move(ctx context.Context, actor registry.Actor, id, verb, reason string) error {
	_, err := e.change(ctx, actor, id, func(tx *store.Tx, endpoint *store.Endpoint) error {
		t := endpointMove(verb)
		if verb == "release" && !actor.Administrator {
			var err error
			if t.Admin, err = suspendedByPerson(ctx, tx, id); err != nil {
				return err
			}
		}
		if verb == "resume" && !actor.Administrator && endpoint.Status == store.EndpointPaused && endpoint.PausedBy != "" {
			return registry.Forbidden("partners.endpoint.paused-by-administrator")
		}
		if err := t.Check(actor, "endpoint", endpoint.Status, reason); err != nil {
			return err
		}
		endpoint.Status, endpoint.StatusReason, endpoint.PausedBy = t.To, reason, ""
		if verb == "pause" && actor.Administrator {
			endpoint.PausedBy = actor.Name
		}
		if t.To == store.EndpointEnded {
			endpoint.TokenSecret, endpoint.SignKeys, endpoint.Certificates = "", "", ""
		}
		if err := e.updateStatus(ctx, tx, actor, endpoint); err != nil {
			return fmt.Errorf("%s endpoint: %w", verb, err)
		}
		if t.To == store.EndpointActive {
			if err := closeCircuit(ctx, tx, endpoint); err != nil {
				return err
			}
		}
		if err := registry.Record(ctx, tx, actor, t.Action, endpointObject(*endpoint), registry.Details{"reason": reason}); err != nil {
			return err
		}
		return e.notify(ctx, tx, *endpoint, verb)
	})
	return err
}

// updateStatus writes the state of an endpoint; one that ended ends its subscriptions.
func (e *Endpoints) updateStatus(ctx context.Context, tx *store.Tx, actor registry.Actor, endpoint *store.Endpoint) error {
	if endpoint.Status != store.EndpointEnded {
		return tx.UpdateEndpoint(ctx, endpoint)
	}
	return e.keepRecipients(ctx, tx, actor, func() error {
		if err := tx.UpdateEndpoint(ctx, endpoint); err != nil {
			return err
		}
		return endSubscriptions(ctx, tx, store.SubscriptionFilter{EndpointID: endpoint.ID}, "partners.reason.endpoint-ended")
	})
}

// suspendedByPerson asks the audit trail who suspended an endpoint last.
func suspendedByPerson(ctx context.Context, tx *store.Tx, id string) (bool, error) {
	last, _, err := tx.Audits(ctx, store.AuditFilter{ObjectID: id, Action: registry.ActionEndpointSuspended, Page: store.Page{Number: 1, Size: 1}})
	if err != nil {
		return false, fmt.Errorf("find who suspended: %w", err)
	}
	return len(last) == 0 || last[0].ActorKind != registry.ActorSystem, nil
}

func endEndpoints(ctx context.Context, tx *store.Tx, partnerID, reason string) error {
	endpoints, err := tx.Endpoints(ctx, partnerID)
	if err != nil {
		return fmt.Errorf("list endpoints: %w", err)
	}
	for _, endpoint := range endpoints {
		endpoint.Status, endpoint.StatusReason, endpoint.TokenSecret, endpoint.SignKeys, endpoint.Certificates = store.EndpointEnded, reason, "", "", ""
		if err := tx.UpdateEndpoint(ctx, &endpoint); err != nil {
			return fmt.Errorf("end endpoint: %w", err)
		}
	}
	return nil
}
