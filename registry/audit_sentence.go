package registry

import (
	"encoding/json"
	"strconv"
	"strings"

	"schakel/store"
)

// sentences holds a sentence for each action; the entry fills in the words between braces.
func sentences() map[string]string {
	return map[string]string{
		ActionPartnerRegistered: "registered {object}",
		ActionPartnerLapsed:     "set aside the registration of {object}, which nobody confirmed in time",
		ActionPartnerConfirmed:  "confirmed the e-mail address of {object}",
		ActionPartnerVouched:    "confirmed the registration of {object} in place of its contact person",
		ActionMailRead:          "read the text of mail {object}",
		ActionPartnerApproved:   "approved the registration of {object}",
		ActionPartnerRejected:   "rejected the registration of {object}",
		ActionPartnerSuspended:  "suspended {object}",
		ActionPartnerResumed:    "resumed {object}",
		ActionPartnerEnded:      "ended the exchange with {object}",
		ActionPartnerContact:    "changed the contact person of {object}",
		ActionPartnerAgain:      "registered {object} again before the address was confirmed: {changes}",
		ActionPartnerCorrected:  "corrected the registration of {object}: {changes}",

		ActionClientCreated:       "created client {object}",
		ActionClientUpdated:       "changed client {object}",
		ActionClientApproved:      "granted client {object} {scopes} {types} {sources}",
		ActionClientRejected:      "turned down what client {object} asked for",
		ActionClientSecretRotated: "gave client {object} a new secret",
		ActionClientKeyAdded:      "gave client {object} a new key pair",
		ActionClientRevoked:       "revoked client {object}",
		ActionReadKeyCreated:      "made read-only key {object}",
		ActionReadKeyRevoked:      "revoked read-only key {object}",
		ActionSigningKeyMade:      "made a new signing key for access tokens",

		ActionEndpointCreated:   "added endpoint {object} at {host}",
		ActionEndpointUpdated:   "changed endpoint {object} at {host}",
		ActionEndpointPaused:    "paused endpoint {object}",
		ActionEndpointResumed:   "resumed endpoint {object}",
		ActionEndpointSuspended: "suspended endpoint {object}",
		ActionEndpointReleased:  "lifted the suspension of endpoint {object}",
		ActionEndpointEnded:     "ended endpoint {object}",

		ActionSubscriptionRequested:      "asked for a subscription of {partner} to {types} at endpoint {endpoint}",
		ActionSubscriptionChanged:        "changed the filters, order or retries of the subscription of {partner} to {types} at endpoint {endpoint}",
		ActionSubscriptionApproved:       "approved the subscription of {partner} to {types} at endpoint {endpoint}",
		ActionSubscriptionRejected:       "rejected the subscription of {partner} to {types} at endpoint {endpoint}",
		ActionSubscriptionSuspended:      "suspended the subscription of {partner} to {types} at endpoint {endpoint}",
		ActionSubscriptionResumed:        "resumed the subscription of {partner} to {types} at endpoint {endpoint}",
		ActionSubscriptionPaused:         "paused the subscription of {partner} to {types} at endpoint {endpoint}",
		ActionSubscriptionUnpaused:       "ended the pause of the subscription of {partner} to {types} at endpoint {endpoint}",
		ActionSubscriptionEnded:          "ended the subscription of {partner} to {types} at endpoint {endpoint}",
		ActionSubscriptionChangeRejected: "rejected a change of the subscription of {partner} to {types} at endpoint {endpoint}",
		ActionSubscriptionArea:           "changed the area or object types of the subscription of {partner} to {types} at endpoint {endpoint}",

		ActionDatasetCreated:  "created dataset {object}",
		ActionDatasetChanged:  "changed dataset {object}",
		ActionDatasetEnded:    "ended dataset {object}",
		ActionDatasetDelta:    "asked for a delta of dataset {object}",
		ActionDatasetSnapshot: "asked for a snapshot of dataset {object}",
		ActionDatasetLineage:  "started a new lineage of dataset {object}, so that every copy begins anew",

		ActionHistoryReplaced:      "replaced the whole history of dataset {object}, so that every copy begins anew",
		ActionPublicationCancelled: "stopped what was being published in dataset {object}",

		ActionRouteAdded:   "allowed {types} from {from} to go to {to}",
		ActionRouteRemoved: "no longer allowed {types} from {from} to go to {to}",

		ActionAccountInvited:   "invited {object} as an administrator",
		ActionAccountBlocked:   "blocked the account of {object}",
		ActionAccountUnblocked: "unblocked the account of {object}",

		ActionContractCreated:      "created contract {object}",
		ActionContractUpdated:      "changed the description of contract {object}",
		ActionContractTransferred:  "transferred contract {object} from {from} to {to}",
		ActionContractShown:        "changed who sees contract {object} from {from} to {to}",
		ActionContractRequested:    "asked for the publication of contract {object}",
		ActionContractRefused:      "turned down the publication of contract {object}",
		ActionContractUploaded:     "uploaded contract {object}",
		ActionContractDraftDeleted: "deleted the draft of contract {object}",
		ActionContractPublished:    "published contract {object}",
		ActionContractDeprecated:   "deprecated contract {object} {sunset}",
		ActionContractUndeprecated: "took back the deprecation of contract {object}",
		ActionContractWithdrawn:    "withdrew contract {object}",

		ActionMirrorCreated: "began to mirror register {object}",
		ActionMirrorChanged: "changed how register {object} is mirrored",
		ActionMirrorAsked:   "asked to mirror register {object} at once",
		ActionMirrorRemoved: "stopped mirroring register {object}; its copies stay",
		ActionCopyMade:      "copied contract {object} from {from}",
		ActionCopyMarked:    "saw that contract {object} is {to} at {from}",
		ActionCopyDescribed: "took over the title and description of contract {object} from {from}",
		ActionCopyDiffers:   "got other bytes than before of contract {object} from {from}, and kept them aside",
		ActionCopySettled:   "settled the alarm about other bytes of contract {object}",

		ActionProfileChanged: "changed {settings}",

		ActionBrokerAdded:        "added message broker {object}",
		ActionBrokerChanged:      "changed message broker {object}",
		ActionBrokerRemoved:      "removed message broker {object}",
		ActionPartyAdded:         "added AMQP party {object}",
		ActionPartyChanged:       "changed AMQP party {object}",
		ActionPartyImported:      "took over {from} for AMQP party {object}",
		ActionCertificateAdded:   "added a certificate of {from} to AMQP party {object}",
		ActionCertificateRemoved: "removed a certificate of {from} from AMQP party {object}",
		ActionProcessAdded:       "added process {from} to AMQP party {object}",
		ActionProcessChanged:     "changed process {from} of AMQP party {object}",
		ActionProcessRemoved:     "removed process {from} from AMQP party {object}",

		ActionEndpointTested:      "sent a test event to endpoint {object}",
		ActionDeliveryResent:      "sent a delivery of {object} again",
		ActionDeliveryDiscarded:   "discarded a delivery of {object}",
		ActionDeliveriesResent:    "began to send many deliveries again",
		ActionDeliveriesDiscarded: "began to discard many deliveries",
		ActionDeliveriesReplayed:  "began to offer many events again",
		ActionJobCancelled:        "stopped a job over many deliveries",
		ActionMessagePutBack:      "put AMQP message {object} back on its queue",
		ActionMessageDropped:      "dropped AMQP message {object}",
		ActionMessageReprocessed:  "reprocessed AMQP message {object}",
		ActionMessagesAsked:       "asked for an action on AMQP messages: {object}",
		ActionAppRecResent:        "sent AppRec {object} again",
		ActionRequestQuarantined:  "quarantined a request of client {object}: its Idempotency-Key was used before for something else",
		ActionRequestReleased:     "released a quarantined request of client {object}",
		ActionIssueAcknowledged:   "acknowledged the issue “{object}”",
		ActionIssueResolved:       "resolved the issue “{object}”",
		ActionRequestDiscarded:    "discarded a quarantined request of client {object}",
	}
}

// Sentence writes an entry in plain English, such as "Anna de Vries approved the subscription of Scholengroep Noord to
// nl.example.student.enrolled at endpoint Main." An action of another package than this one is told as it is named.
func Sentence(a store.Audit) string {
	d := Details{}
	_ = json.Unmarshal([]byte(a.Detail), &d) // an entry without readable details is told without
	text, known := sentences()[a.Action]
	if !known {
		text = otherAction(a)
	}
	if verb, _, ok := strings.Cut(text, " of {partner}"); ok && d.text("partner") == "" {
		text = verb + " {object}" // what the engine tells has no more than its name
	}
	who := a.ActorName
	if who == "" {
		who = "Someone"
	}
	text = strings.NewReplacer(
		"{object}", nameOf(a), "{partner}", d.text("partner"), "{endpoint}", d.text("endpoint"), "{host}", d.text("host"),
		"{types}", d.list("types"), "{scopes}", d.list("scopes"), "{sources}", d.list("sources"), "{settings}", d.list("settings"), "{changes}", d.all("changes"),
		"{from}", d.text("from"), "{to}", d.text("to"), "{sunset}", until(d.text("sunset")),
	).Replace(text)
	text = who + " " + strings.Join(strings.Fields(text), " ")
	text = strings.TrimSuffix(text, " at")
	if reason := d.text("reason"); reason != "" {
		return text + ": “" + reason + "”"
	}
	return text + "."
}

func otherAction(a store.Audit) string {
	noun, verb, ok := strings.Cut(a.Action, ".")
	if !ok {
		return "did " + a.Action
	}
	return strings.ReplaceAll(verb, "-", " ") + " " + strings.ReplaceAll(noun, "-", " ") + " {object}"
}

func nameOf(a store.Audit) string {
	if a.ObjectName != "" {
		return a.ObjectName
	}
	return a.ObjectID
}

func until(day string) string {
	if day == "" {
		return ""
	}
	return "until " + day
}

func (d Details) text(name string) string {
	text, _ := d[name].(string)
	return text
}

// all writes a list whole.
func (d Details) all(name string) string {
	return strings.Join(d.words(name), ", ")
}

// list writes a list as people do; a long one is cut.
func (d Details) list(name string) string {
	words := d.words(name)
	const most = 3
	if n := len(words); n > most {
		words = append(words[:most:most], strconv.Itoa(n-most)+" more")
	}
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}

func (d Details) words(name string) (words []string) {
	items, _ := d[name].([]any)
	for _, item := range items {
		if text, ok := item.(string); ok {
			words = append(words, text)
		}
	}
	return words
}
