package site

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// Actions that the delivery engine writes in the audit trail.
const (
	auditResent     = "delivery.resent"
	auditDiscarded  = "delivery.discarded"
	auditResendAll  = "deliveries." + outbox.ActionResend
	auditDiscardAll = "deliveries." + outbox.ActionDiscard
	auditReplay     = "deliveries." + outbox.ActionReplay
	auditCancelJob  = "deliveries.cancel"
	auditContinue   = "deliveries.continue"
	auditTested     = "endpoint.tested"
)

// AuditSentence describes an entry of the audit trail to the reader of a context, those of jobs with what they count.
func AuditSentence(ctx context.Context, a store.Audit) string {
	var d struct {
		Count int    `json:"count"`
		Total int    `json:"total"`
		More  bool   `json:"more"`
		What  string `json:"what"`
		Cause string `json:"cause"`
	}
	_ = json.Unmarshal([]byte(a.Detail), &d) // an entry without readable details is told without
	switch {
	case a.Action == auditResendAll:
		return registry.SentenceOf(ctx, a, i18n.T(ctx, "audit.resend-count", d.Count))
	case a.Action == auditDiscardAll:
		return registry.SentenceOf(ctx, a, i18n.T(ctx, "audit.discard-count", d.Count))
	case a.Action == auditReplay && d.More:
		return registry.SentenceOf(ctx, a, i18n.T(ctx, "audit.replay-more", d.Count))
	case a.Action == auditReplay:
		return registry.SentenceOf(ctx, a, i18n.T(ctx, "audit.replay-count", d.Count))
	case a.Action == auditCancelJob:
		return registry.SentenceOf(ctx, a, cancelled(ctx, d.What, d.Count, d.Total))
	case a.Action == registry.ActionListExported:
		a.ObjectName = i18n.Of(ctx, "audit.exported", a.ObjectName)
	case a.ObjectKind == "issue" && d.Cause != "":
		a.ObjectName = registry.IssueCause(d.Cause).In(ctx)
	}
	return registry.Sentence(ctx, a)
}

// cancelled counts the deliveries that a stopped job had handled.
func cancelled(ctx context.Context, what string, count, total int) string {
	switch what {
	case outbox.ActionDiscard:
		return i18n.T(ctx, "audit.cancel-discard", count, total)
	case outbox.ActionReplay:
		return i18n.T(ctx, "audit.cancel-replay", count, total)
	}
	return i18n.T(ctx, "audit.cancel-resend", count, total)
}

// AuditActions are all actions that can be filtered by, by name.
func AuditActions() []string {
	list := []string{
		auditResent, auditDiscarded, auditResendAll, auditDiscardAll, auditReplay, auditCancelJob, auditContinue, auditTested, registry.ActionEndpointChecked,
		registry.ActionSigningKeyMade, registry.ActionRouteAdded, registry.ActionRouteRemoved, registry.ActionProfileChanged,
		registry.ActionConfirmationAsked, registry.ActionConfirmationConfirmed, registry.ActionConfirmationDeclined, registry.ActionConfirmationWithdrawn, registry.ActionConfirmationExpired, registry.ActionConfirmationStale,
		registry.ActionAccountInvited, registry.ActionAccountBlocked, registry.ActionAccountUnblocked, registry.ActionRoleChanged, registry.ActionAccountRemoved, registry.ActionInvitationWithdrawn, registry.ActionLinkMailed, registry.ActionLinkMade,
		registry.ActionLoggedIn, registry.ActionLoginFailed, registry.ActionLoginRefused, registry.ActionLoginsWait, registry.ActionAccountMade, registry.ActionTakenOver, registry.ActionLoggedOut, registry.ActionPasswordAsked, registry.ActionPasswordSet,
		registry.ActionSessionsEnded, registry.ActionSessionEnded, registry.ActionAllSessionsEnded, registry.ActionRoleLost, registry.ActionRoleFromProvider, registry.ActionProviderLogout, registry.ActionBreakGlass, registry.ActionFactorAdded, registry.ActionFactorRemoved,
		registry.ActionFactorsReset, registry.ActionFactorFailed, registry.ActionRecoveryCodesMade, registry.ActionRecoveryCodeUsed,
		registry.ActionRequestQuarantined, registry.ActionRequestReleased, registry.ActionRequestDiscarded,
		registry.ActionIssueAcknowledged, registry.ActionIssueResolved, registry.ActionIssueReopened, registry.ActionIssueMailed,
		registry.ActionBackupMade, registry.ActionKeyBackedUp, registry.ActionKeyChanged, registry.ActionKeySealed, registry.ActionKeyRemoved, registry.ActionTestMailSent, registry.ActionMailConfirmed,
		registry.ActionListExported, registry.ActionDataRead, registry.ActionDataDownloaded, registry.ActionInboxRead,
		registry.ActionAuditAdopted, registry.ActionRestored,
	}
	list = append(list, partnerActions()...)
	list = append(list, exchangeActions()...)
	list = append(list, contractActions()...)
	list = append(list, amqpActions()...)
	list = append(list, datasetActions()...)
	slices.Sort(list)
	return list
}

func partnerActions() []string {
	return []string{
		registry.ActionPartnerRegistered, registry.ActionPartnerLapsed, registry.ActionPartnerConfirmed, registry.ActionPartnerVouched, registry.ActionMailRead, registry.ActionMailReleased, registry.ActionPartnerApproved,
		registry.ActionPartnerRejected, registry.ActionPartnerSuspended, registry.ActionPartnerResumed, registry.ActionPartnerEnded, registry.ActionDataErased,
		registry.ActionPartnerContact, registry.ActionPartnerCorrected, registry.ActionPartnerAgain,
		registry.ActionMandateFound, registry.ActionMandateMissing,
		registry.ActionClientCreated, registry.ActionClientUpdated, registry.ActionClientApproved, registry.ActionClientRejected,
		registry.ActionClientSecretRotated, registry.ActionClientKeyAdded, registry.ActionClientRevoked, registry.ActionClientPublished,
		registry.ActionReadKeyCreated, registry.ActionReadKeyRevoked,
	}
}

func exchangeActions() []string {
	return []string{
		registry.ActionEndpointCreated, registry.ActionEndpointUpdated, registry.ActionEndpointPaused, registry.ActionEndpointResumed,
		registry.ActionEndpointSuspended, registry.ActionEndpointReleased, registry.ActionEndpointEnded, registry.ActionEndpointSigning, registry.ActionEndpointProbed,
		registry.ActionSubscriptionRequested, registry.ActionSubscriptionChanged, registry.ActionSubscriptionEncryption,
		registry.ActionEndpointMoveAsked, registry.ActionEndpointMoved, registry.ActionEndpointMoveEnded,
		registry.ActionSubscriptionApproved, registry.ActionSubscriptionRejected,
		registry.ActionSubscriptionSuspended, registry.ActionSubscriptionResumed, registry.ActionSubscriptionPaused,
		registry.ActionSubscriptionUnpaused, registry.ActionSubscriptionEnded, registry.ActionSubscriptionArea, registry.ActionSubscriptionChangeRejected,
	}
}

func amqpActions() []string {
	return []string{
		registry.ActionBrokerAdded, registry.ActionBrokerChanged, registry.ActionBrokerRemoved, registry.ActionPartyAdded, registry.ActionPartyChanged,
		registry.ActionPartyImported, registry.ActionCertificateAdded, registry.ActionCertificateRemoved, registry.ActionProcessAdded,
		registry.ActionProcessChanged, registry.ActionProcessRemoved, registry.ActionMessagePutBack, registry.ActionMessageDropped,
		registry.ActionMessageReprocessed, registry.ActionMessagesAsked, registry.ActionAppRecResent, registry.ActionBodyDownloaded,
	}
}

func datasetActions() []string {
	return []string{
		registry.ActionDatasetCreated, registry.ActionDatasetChanged, registry.ActionDatasetEnded, registry.ActionDatasetDelta,
		registry.ActionDatasetSnapshot, registry.ActionDatasetLineage, registry.ActionHistoryReplaced, registry.ActionPublicationCancelled, registry.ActionFileDownloaded,
	}
}

func contractActions() []string {
	return []string{
		registry.ActionContractCreated, registry.ActionContractUpdated, registry.ActionContractTransferred, registry.ActionContractUploaded,
		registry.ActionContractDraftDeleted, registry.ActionContractPublished, registry.ActionContractDeprecated,
		registry.ActionContractUndeprecated, registry.ActionContractWithdrawn,
		registry.ActionContractShown, registry.ActionContractDownloaded, registry.ActionContractRequested, registry.ActionContractRefused,
		registry.ActionMirrorCreated, registry.ActionMirrorChanged, registry.ActionMirrorAsked, registry.ActionMirrorRemoved,
		registry.ActionCopyMade, registry.ActionCopyMarked, registry.ActionCopyDescribed, registry.ActionCopyDiffers, registry.ActionCopySettled,
	}
}

// ActionLabel writes an action such as "client.secret-rotated" as "Client: secret rotated".
func ActionLabel(ctx context.Context, action string) string {
	noun, verb, ok := strings.Cut(action, ".")
	if !ok {
		return Capital(noun)
	}
	return i18n.T(ctx, "audit.label", i18n.Of(ctx, "audit.noun", noun), i18n.Of(ctx, "audit.verb", verb))
}
