package site

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/ui"
)

// Actions that the delivery engine writes in the audit trail.
const (
	auditResent     = "delivery.resent"
	auditDiscarded  = "delivery.discarded"
	auditResendAll  = "deliveries." + outbox.ActionResend
	auditDiscardAll = "deliveries." + outbox.ActionDiscard
	auditReplay     = "deliveries." + outbox.ActionReplay
	auditCancelJob  = "deliveries.cancel"
	auditTested     = "endpoint.tested"
)

// AuditSentence describes an entry of the audit trail, also those of the engine, in plain English.
func AuditSentence(a store.Audit) string {
	var d struct {
		Count  int    `json:"count"`
		Total  int    `json:"total"`
		More   bool   `json:"more"`
		What   string `json:"what"`
		Reason string `json:"reason"`
	}
	_ = json.Unmarshal([]byte(a.Detail), &d) // an entry without readable details is told without
	count := ui.Plural(d.Count, "delivery", "deliveries")
	var text string
	switch a.Action {
	case auditResent:
		text = "resent a delivery of " + a.ObjectName
	case auditDiscarded:
		text = "discarded a delivery of " + a.ObjectName
	case auditResendAll:
		text = "started a job to resend " + count
	case auditDiscardAll:
		text = "started a job to discard " + count
	case auditReplay:
		text = "started a job to offer " + AtLeast(d.More) + ui.Plural(d.Count, "event", "events") + " again"
	case auditCancelJob:
		text = "stopped a job to " + cmp.Or(d.What, "resend") + " after " + ui.Count(d.Count) + " of " + ui.Count(d.Total)
	case auditTested:
		text = "sent a test event to endpoint " + a.ObjectName
	default:
		return registry.Sentence(a)
	}
	text = cmp.Or(a.ActorName, "Someone") + " " + text
	if d.Reason != "" {
		return text + ": “" + d.Reason + "”"
	}
	return text + "."
}

// AtLeast begins a count that stopped at its bound; empty for one that is exact.
func AtLeast(more bool) string {
	if more {
		return "more than "
	}
	return ""
}

// AuditActions are all actions that can be filtered by, by name.
func AuditActions() []string {
	list := []string{
		auditResent, auditDiscarded, auditResendAll, auditDiscardAll, auditReplay, auditCancelJob, auditTested,
		registry.ActionSigningKeyMade, registry.ActionRouteAdded, registry.ActionRouteRemoved, registry.ActionProfileChanged,
		registry.ActionAccountInvited, registry.ActionAccountBlocked, registry.ActionAccountUnblocked,
		registry.ActionRequestQuarantined, registry.ActionRequestReleased, registry.ActionRequestDiscarded,
		registry.ActionIssueAcknowledged, registry.ActionIssueResolved,
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
		registry.ActionPartnerRegistered, registry.ActionPartnerLapsed, registry.ActionPartnerConfirmed, registry.ActionPartnerVouched, registry.ActionMailRead, registry.ActionPartnerApproved,
		registry.ActionPartnerRejected, registry.ActionPartnerSuspended, registry.ActionPartnerResumed, registry.ActionPartnerEnded,
		registry.ActionPartnerContact, registry.ActionPartnerCorrected, registry.ActionPartnerAgain,
		registry.ActionClientCreated, registry.ActionClientUpdated, registry.ActionClientApproved, registry.ActionClientRejected,
		registry.ActionClientSecretRotated, registry.ActionClientKeyAdded, registry.ActionClientRevoked,
		registry.ActionReadKeyCreated, registry.ActionReadKeyRevoked,
	}
}

func exchangeActions() []string {
	return []string{
		registry.ActionEndpointCreated, registry.ActionEndpointUpdated, registry.ActionEndpointPaused, registry.ActionEndpointResumed,
		registry.ActionEndpointSuspended, registry.ActionEndpointReleased, registry.ActionEndpointEnded,
		registry.ActionSubscriptionRequested, registry.ActionSubscriptionChanged,
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
		registry.ActionMessageReprocessed, registry.ActionMessagesAsked, registry.ActionAppRecResent,
	}
}

func datasetActions() []string {
	return []string{
		registry.ActionDatasetCreated, registry.ActionDatasetChanged, registry.ActionDatasetEnded, registry.ActionDatasetDelta,
		registry.ActionDatasetSnapshot, registry.ActionDatasetLineage, registry.ActionHistoryReplaced, registry.ActionPublicationCancelled,
	}
}

func contractActions() []string {
	return []string{
		registry.ActionContractCreated, registry.ActionContractUpdated, registry.ActionContractTransferred, registry.ActionContractUploaded,
		registry.ActionContractDraftDeleted, registry.ActionContractPublished, registry.ActionContractDeprecated,
		registry.ActionContractUndeprecated, registry.ActionContractWithdrawn,
		registry.ActionContractShown, registry.ActionContractRequested, registry.ActionContractRefused,
		registry.ActionMirrorCreated, registry.ActionMirrorChanged, registry.ActionMirrorAsked, registry.ActionMirrorRemoved,
		registry.ActionCopyMade, registry.ActionCopyMarked, registry.ActionCopyDescribed, registry.ActionCopyDiffers, registry.ActionCopySettled,
	}
}

// ActionLabel writes an action such as "client.secret-rotated" as "Client: secret rotated".
func ActionLabel(action string) string {
	noun, verb, ok := strings.Cut(strings.NewReplacer("-", " ", "_", " ", "amqp", "AMQP").Replace(action), ".")
	if !ok {
		return Capital(noun)
	}
	return Capital(noun) + ": " + verb
}
