package registry

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"schakel/store"
)

// The actions of the audit trail. Each has a sentence.
const (
	ActionPartnerRegistered = "partner.registered"
	ActionPartnerLapsed     = "partner.lapsed"
	ActionPartnerConfirmed  = "partner.confirmed"
	ActionPartnerVouched    = "partner.vouched" // an administrator confirmed the address
	ActionMailRead          = "mail.read"
	ActionMailReleased      = "mail.released" // an administrator sent what was held back
	ActionPartnerApproved   = "partner.approved"
	ActionPartnerRejected   = "partner.rejected"
	ActionPartnerSuspended  = "partner.suspended"
	ActionPartnerResumed    = "partner.resumed"
	ActionPartnerEnded      = "partner.ended"
	ActionPartnerContact    = "partner.contact-changed"
	ActionPartnerCorrected  = "partner.corrected"
	ActionPartnerAgain      = "partner.registered-again"

	ActionMandateFound   = "mandate.found"
	ActionMandateMissing = "mandate.missing"

	ActionClientCreated       = "client.created"
	ActionClientUpdated       = "client.updated"
	ActionClientApproved      = "client.approved"
	ActionClientRejected      = "client.rejected"
	ActionClientSecretRotated = "client.secret-rotated"
	ActionClientKeyAdded      = "client.key-added"
	ActionClientRevoked       = "client.revoked"
	ActionClientPublished     = "client.test-published"
	ActionSigningKeyMade      = "signing-key.made"
	ActionReadKeyCreated      = "read-key.created"
	ActionReadKeyRevoked      = "read-key.revoked"

	ActionEndpointCreated   = "endpoint.created"
	ActionEndpointUpdated   = "endpoint.updated"
	ActionEndpointPaused    = "endpoint.paused"
	ActionEndpointResumed   = "endpoint.resumed"
	ActionEndpointSuspended = "endpoint.suspended"
	ActionEndpointReleased  = "endpoint.released"
	ActionEndpointProbed    = "endpoint.probed"
	ActionEndpointSigning   = "endpoint.signing_changed"
	ActionEndpointEnded     = "endpoint.ended"
	ActionEndpointMoveAsked = "endpoint.move-asked" // its changed destination waits
	ActionEndpointMoved     = "endpoint.moved"
	ActionEndpointMoveEnded = "endpoint.move-ended" // without effect

	ActionSubscriptionRequested  = "subscription.requested"
	ActionSubscriptionChanged    = "subscription.changed"
	ActionSubscriptionEncryption = "subscription.encryption_changed"
	ActionSubscriptionApproved   = "subscription.approved"
	ActionSubscriptionRejected   = "subscription.rejected"
	ActionSubscriptionSuspended  = "subscription.suspended"
	ActionSubscriptionResumed    = "subscription.resumed"
	ActionSubscriptionPaused     = "subscription.paused"
	ActionSubscriptionUnpaused   = "subscription.unpaused"
	ActionSubscriptionEnded      = "subscription.ended"
	ActionSubscriptionArea       = "subscription.area-changed"
	// ActionSubscriptionChangeRejected is of a change of area or object types; the subscription goes on as it was.
	ActionSubscriptionChangeRejected = "subscription.change-rejected"

	ActionDatasetCreated  = "dataset.created"
	ActionDatasetChanged  = "dataset.changed"
	ActionDatasetEnded    = "dataset.ended"
	ActionDatasetDelta    = "dataset.delta-asked"
	ActionDatasetSnapshot = "dataset.snapshot-asked"
	ActionDatasetLineage  = "dataset.lineage-started"

	ActionPublicationCancelled = "dataset.publication-cancelled"
	ActionHistoryReplaced      = "dataset.history-replaced" // written with the publication that does it

	ActionRouteAdded   = "route.added"
	ActionRouteRemoved = "route.removed"

	ActionInvitationWithdrawn = "account.invitation-withdrawn"

	ActionAccountInvited    = "account.invited"
	ActionAccountBlocked    = "account.blocked"
	ActionAccountUnblocked  = "account.unblocked"
	ActionRoleChanged       = "account.role-changed"
	ActionAccountRemoved    = "account.removed"
	ActionLinkMailed        = "account.link-mailed" // an invitation again, or a link to set another password
	ActionLinkMade          = "account.link-made"   // to choose a password, handed over by who made it
	ActionLoggedIn          = "account.logged-in"
	ActionLoginFailed       = "account.login-failed"
	ActionLoginRefused      = "account.login-refused" // it logged in at an OpenID provider, and nothing here lets it in
	ActionLoginsWait        = "account.logins-wait"   // so many failed that the next ones wait
	ActionAccountMade       = "account.made"          // at the first login at an OpenID provider
	ActionTakenOver         = "account.taken-over"    // it logs in at an OpenID provider from then on
	ActionLoggedOut         = "account.logged-out"
	ActionPasswordAsked     = "account.password-asked" // somebody asked for the link that sets another one
	ActionPasswordSet       = "account.password-set"
	ActionSessionsEnded     = "account.sessions-ended"
	ActionSessionEnded      = "account.session-ended"
	ActionAllSessionsEnded  = "account.all-sessions-ended" // of everybody
	ActionFactorAdded       = "account.factor-added"
	ActionFactorRemoved     = "account.factor-removed"
	ActionFactorsReset      = "account.factors-reset"
	ActionFactorFailed      = "account.factor-failed"
	ActionRecoveryCodesMade = "account.recovery-codes-made"
	ActionRecoveryCodeUsed  = "account.recovery-code-used"
	ActionRoleLost          = "account.role-lost"          // its OpenID provider gives it no role any more
	ActionRoleFromProvider  = "account.role-from-provider" // its OpenID provider gives it another role or partner
	ActionProviderLogout    = "account.provider-logout"    // its OpenID provider ended the session
	ActionBreakGlass        = "account.break-glass"        // the emergency account was logged in to

	ActionContractCreated      = "contract.created"
	ActionContractUpdated      = "contract.updated"
	ActionContractTransferred  = "contract.transferred"
	ActionContractShown        = "contract.shown"
	ActionContractRequested    = "contract.publication-requested"
	ActionContractRefused      = "contract.publication-refused"
	ActionContractUploaded     = "contract.uploaded"
	ActionContractDraftDeleted = "contract.draft-deleted"
	ActionContractPublished    = "contract.published"
	ActionContractDeprecated   = "contract.deprecated"
	ActionContractUndeprecated = "contract.undeprecated"
	ActionContractWithdrawn    = "contract.withdrawn"

	ActionMirrorCreated = "mirror.created"
	ActionMirrorChanged = "mirror.changed"
	ActionMirrorAsked   = "mirror.run-asked"
	ActionMirrorRemoved = "mirror.removed"
	ActionCopyMade      = "contract.copied"
	ActionCopyMarked    = "contract.copy-marked"
	ActionCopyDescribed = "contract.copy-described"
	ActionCopyDiffers   = "contract.copy-differs"
	ActionCopySettled   = "contract.copy-settled"

	ActionProfileChanged = "profile.changed"

	ActionConfirmationAsked     = "confirmation.asked" // an action waits for a second person
	ActionConfirmationConfirmed = "confirmation.confirmed"
	ActionConfirmationDeclined  = "confirmation.declined"
	ActionConfirmationWithdrawn = "confirmation.withdrawn"
	ActionConfirmationExpired   = "confirmation.expired"
	ActionConfirmationStale     = "confirmation.stale"

	ActionBackupMade    = "backup.made"
	ActionKeyBackedUp   = "key.backed-up"
	ActionKeyChanged    = "key.changed" // another key of the vault came into use
	ActionKeySealed     = "key.sealed"  // and everything was sealed anew
	ActionKeyRemoved    = "key.removed"
	ActionDataErased    = "partner.data-erased" // the key of what a partner sent was destroyed
	ActionTestMailSent  = "mail.tested"
	ActionMailConfirmed = "mail.confirmed"

	ActionBrokerAdded        = "amqp-broker.added"
	ActionBrokerChanged      = "amqp-broker.changed"
	ActionBrokerRemoved      = "amqp-broker.removed"
	ActionPartyAdded         = "amqp-party.added"
	ActionPartyChanged       = "amqp-party.changed"
	ActionPartyImported      = "amqp-party.imported"
	ActionCertificateAdded   = "amqp-certificate.added"
	ActionCertificateRemoved = "amqp-certificate.removed"
	ActionProcessAdded       = "amqp-process.added"
	ActionProcessChanged     = "amqp-process.changed"
	ActionProcessRemoved     = "amqp-process.removed"

	// The engine writes these; they stand here to be told.
	ActionEndpointTested      = "endpoint.tested"
	ActionEndpointChecked     = "endpoint.checked"
	ActionDeliveryResent      = "delivery.resent"
	ActionDeliveryDiscarded   = "delivery.discarded"
	ActionDeliveriesResent    = "deliveries.resend"
	ActionDeliveriesDiscarded = "deliveries.discard"
	ActionDeliveriesReplayed  = "deliveries.replay"
	ActionJobCancelled        = "deliveries.cancel"
	ActionJobContinued        = "deliveries.continue"
	ActionMessagePutBack      = "amqp.put_back"
	ActionMessageDropped      = "amqp.dropped"
	ActionMessageReprocessed  = "amqp.reprocessed"
	ActionMessagesAsked       = "amqp.asked"
	ActionAppRecResent        = "amqp.apprec_resent"
	ActionRequestQuarantined  = "quarantine.added"
	ActionRequestReleased     = "quarantine.released"
	ActionRequestDiscarded    = "quarantine.discarded"

	ActionIssueAcknowledged = "issue.acknowledged"
	ActionIssueResolved     = "issue.resolved"
	ActionIssueReopened     = "issue.reopened"
	ActionIssueMailed       = "issue.mailed"

	ActionListExported = "list.exported"

	// What was read and taken away.
	ActionDataRead           = "event.data-read"
	ActionDataDownloaded     = "event.data-downloaded"
	ActionInboxRead          = "inbox.read"
	ActionBodyDownloaded     = "amqp.body-downloaded"
	ActionContractDownloaded = "contract.downloaded" // of one that not everybody may read
	ActionFileDownloaded     = "dataset.file-downloaded"

	ActionAuditAdopted = store.AuditAdopted // entries got their place in the chain afterwards
	ActionRestored     = "backup.restored"
)

// AuditTrail reads the audit trail. An entry is written in the transaction of the change it describes, and is immutable.
type AuditTrail struct {
	cfg   Config
	mu    sync.Mutex
	noted map[noted]time.Time
}

// NewAuditTrail makes the service.
func NewAuditTrail(cfg Config) *AuditTrail {
	return &AuditTrail{cfg: cfg, noted: make(map[noted]time.Time)}
}

// noted names a read that has its entry.
type noted struct{ actor, action, kind, id string }

// readsAreOne sets how long reads of the same by the same are one entry: a page that is loaded again, a download in parts. maxNoted bounds
// what is remembered of it.
const (
	readsAreOne = 5 * time.Minute
	maxNoted    = 4096
)

// NoteRead writes an entry about what somebody is about to read, and about what is read again within five minutes only one a node.
// What cannot be written must not be shown.
func (a *AuditTrail) NoteRead(ctx context.Context, actor Actor, action string, o Object, d Details) error {
	key, now := noted{actor.ID, action, o.kind, o.id}, a.cfg.Now()
	a.mu.Lock()
	last, known := a.noted[key]
	a.mu.Unlock()
	if known && now.Sub(last) < readsAreOne {
		return nil
	}
	if err := a.cfg.DB.Write(ctx, func(tx *store.Tx) error { return Record(ctx, tx, actor, action, o, d) }); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.noted) >= maxNoted {
		clear(a.noted)
	}
	a.noted[key] = now
	return nil
}

// List lists entries within a scope, newest first, with their total count.
func (a *AuditTrail) List(ctx context.Context, scope Scope, f store.AuditFilter) ([]store.Audit, int, error) {
	id, ok := scope.Narrow(f.PartnerID)
	if !ok {
		return nil, 0, nil
	}
	f.PartnerID = id
	rows, total, err := a.cfg.DB.Audits(ctx, f)
	return rows, total, Wrap("list audit trail", err)
}

// Newest lists the newest entries within a scope, at most so many; nothing is counted.
func (a *AuditTrail) Newest(ctx context.Context, scope Scope, f store.AuditFilter, most int) ([]store.Audit, error) {
	id, ok := scope.Narrow(f.PartnerID)
	if !ok {
		return nil, nil
	}
	f.PartnerID = id
	rows, err := a.cfg.DB.NewestAudits(ctx, f, most)
	return rows, Wrap("list audit trail", err)
}

// Object names the row that an entry describes.
type Object struct{ kind, id, name, partnerID string }

// ObjectOf makes the object of an entry; partnerID is empty for what belongs to no partner.
func ObjectOf(kind, id, name, partnerID string) Object {
	return Object{kind, id, name, partnerID}
}

// Confirmation is the object as that of an action which waits for a second person.
func (o Object) Confirmation() store.Confirmation {
	return store.Confirmation{ObjectKind: o.kind, ObjectID: o.id, ObjectName: o.name, PartnerID: o.partnerID}
}

// Details are the rest of an entry, by name. Never put a secret in.
type Details map[string]any

// WithAddress gives the entries that are written with a context the IP address that a request came from.
func WithAddress(ctx context.Context, addr string) context.Context {
	return store.WithAddress(ctx, addr)
}

// Record writes an entry in the transaction of what it tells of.
func Record(ctx context.Context, tx *store.Tx, actor Actor, action string, o Object, d Details) error {
	for name, value := range d {
		if value == "" {
			delete(d, name)
		}
	}
	text, err := json.Marshal(d)
	if err != nil || d == nil {
		text = []byte("{}")
	}
	err = tx.InsertAudit(ctx, store.Audit{
		ActorKind: actor.Kind, ActorID: actor.ID, ActorName: actor.Name, Action: action,
		ObjectKind: o.kind, ObjectID: o.id, ObjectName: o.name, PartnerID: o.partnerID, Detail: string(text),
	})
	return Wrap("write audit trail", err)
}
