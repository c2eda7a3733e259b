package amqp

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// maxAnswerWait is the longest time after which an AppRec is overdue.
const maxAnswerWait = 30 * 24 * time.Hour

// maxHerID is the largest HER-id: the register hands out at most nine digits.
const maxHerID = 999_999_999

// maxQueueName is the longest name of a queue, in bytes.
const maxQueueName = 300

// PartyInput holds the input for a party.
type PartyInput struct {
	BrokerID string
	Kind     string // health or cloudevents; it stays what it was
	Name     string
	HerID    int64 // of a health party
	// ParentHerID is the organisation that a service or person belongs to; 0 for none.
	ParentHerID int64
	// The queues, in full as the address registry has them or their last part alone. Empty ones of a health party become
	// the HER-id with _async, _sync, _reply, _error and _dl; dead letters on Azure Service Bus are below the async queue.
	AsyncQueue, SyncQueue, ReplyQueue, ErrorQueue, DeadQueue string
	InboundQueue                                             string // of a cloudevents party: where we read what it sends
	ClientID                                                 string // of a cloudevents party: whose rights hold for what it sends
	ContentMode                                              string // of a cloudevents party: structured (the default) or binary
	// AnswerWait is after how long an AppRec is overdue (AMQP-117); 0 is the default of the bridge.
	AnswerWait    time.Duration
	ApprecVersion string // 1.0 or 1.1; empty is 1.1
	Enabled       bool
}

// InputOfParty is a party as it is, to be changed.
func InputOfParty(p store.AMQPParty) PartyInput {
	return PartyInput{
		BrokerID: p.BrokerID, Kind: p.Kind, Name: p.Name, HerID: p.HerID, ParentHerID: p.ParentHerID, AsyncQueue: p.AsyncQueue, SyncQueue: p.SyncQueue,
		ReplyQueue: p.ReplyQueue, ErrorQueue: p.ErrorQueue, DeadQueue: p.DeadQueue, InboundQueue: p.InboundQueue, ClientID: p.ClientID,
		ContentMode: p.ContentMode, AnswerWait: time.Duration(p.AnswerWaitMS) * time.Millisecond, ApprecVersion: p.ApprecVersion, Enabled: p.Enabled,
	}
}

// clean trims input and fills in what follows from the HER-id and from the dialect of the broker.
func (in PartyInput) clean(own bool, dialect string) PartyInput {
	in.Name = registry.CleanName(in.Name)
	for _, q := range []*string{&in.AsyncQueue, &in.SyncQueue, &in.ReplyQueue, &in.ErrorQueue, &in.DeadQueue, &in.InboundQueue} {
		*q = strings.TrimSpace(*q)
	}
	if in.Kind == store.AMQPCloudEvents {
		return in.cleanCloudEvents()
	}
	in.InboundQueue, in.ClientID, in.ContentMode = "", "", ""
	if in.HerID > 0 {
		standard(&in.AsyncQueue, in.HerID, "async")
		standard(&in.SyncQueue, in.HerID, "sync")
		standard(&in.ErrorQueue, in.HerID, "error")
	}
	if !own {
		in.ReplyQueue, in.DeadQueue = "", ""
	} else if in.HerID > 0 {
		standard(&in.ReplyQueue, in.HerID, "reply")
		if dialect == store.AMQPServiceBus && in.DeadQueue == "" {
			in.DeadQueue = in.AsyncQueue + "/$DeadLetterQueue" // AMQP-50
		}
		standard(&in.DeadQueue, in.HerID, "dl")
	}
	return in
}

func (in PartyInput) cleanCloudEvents() PartyInput {
	in.HerID, in.ParentHerID, in.AnswerWait, in.ApprecVersion = 0, 0, 0, ""
	in.SyncQueue, in.ReplyQueue, in.ErrorQueue, in.DeadQueue = "", "", "", ""
	if in.ContentMode == "" {
		in.ContentMode = registry.ModeStructured
	}
	return in
}

// standard names a queue as the health exchange does.
func standard(queue *string, her int64, end string) {
	if *queue == "" {
		*queue = strconv.FormatInt(her, 10) + "_" + end
	}
}

func (in PartyInput) check(own bool) registry.Problems {
	wrong := registry.Problems{}
	wrong.Add("name", registry.CheckName(in.Name, 2, 120))
	switch in.Kind {
	case store.AMQPHealth:
		in.checkHealth(own, wrong)
	case store.AMQPCloudEvents:
		in.checkCloudEvents(own, wrong)
	default:
		wrong.Add("kind", "amqp.party.kind-bad")
	}
	in.checkQueues(wrong)
	return wrong
}

func (in PartyInput) checkHealth(own bool, wrong registry.Problems) {
	wrong.AddIf(in.HerID < 1 || in.HerID > maxHerID, "herId", "amqp.party.her-id-bad")
	wrong.AddIf(in.ParentHerID < 0 || in.ParentHerID > maxHerID || in.ParentHerID > 0 && in.ParentHerID == in.HerID,
		"parentHerId", "amqp.party.her-id-parent-bad")
	wrong.AddIf(!slices.Contains([]string{"", "1.0", "1.1"}, in.ApprecVersion), "apprecVersion", "amqp.party.apprec-version-bad")
	wrong.AddIf(in.AnswerWait < 0 || in.AnswerWait > maxAnswerWait || in.AnswerWait > 0 && in.AnswerWait < time.Minute,
		"answerWait", "amqp.party.apprec-wait-bad")
	needed := map[string]string{"asyncQueue": in.AsyncQueue, "errorQueue": in.ErrorQueue}
	if own {
		needed["deadQueue"] = in.DeadQueue
	}
	for field, queue := range needed {
		wrong.Add(field, checkQueue(queue, in.HerID < 1))
	}
}

func (in PartyInput) checkCloudEvents(own bool, wrong registry.Problems) {
	wrong.AddIf(own, "kind", "amqp.party.own-kind-bad")
	wrong.AddIf(in.ContentMode != registry.ModeStructured && in.ContentMode != registry.ModeBinary, "contentMode", "amqp.party.content-mode-bad")
	wrong.AddIf(in.AsyncQueue == "" && in.InboundQueue == "", "asyncQueue", "amqp.party.queue-missing")
	wrong.AddIf(in.InboundQueue != "" && in.ClientID == "", "clientId", "amqp.party.client-missing")
}

// checkQueues holds the names of the queues, and that no two are the same.
func (in PartyInput) checkQueues(wrong registry.Problems) {
	seen := map[string]bool{}
	for _, q := range in.queues() {
		wrong.Add(q.field, checkQueue(q.name, true))
		wrong.AddIf(q.name != "" && seen[q.name], q.field, "amqp.party.queue-twice")
		seen[q.name] = true
	}
}

type namedQueue struct{ field, name string }

func (in PartyInput) queues() []namedQueue {
	return []namedQueue{
		{"asyncQueue", in.AsyncQueue},
		{"syncQueue", in.SyncQueue},
		{"replyQueue", in.ReplyQueue},
		{"errorQueue", in.ErrorQueue},
		{"deadQueue", in.DeadQueue},
		{"inboundQueue", in.InboundQueue},
	}
}

func (in PartyInput) fill(row *store.AMQPParty) {
	row.BrokerID, row.Kind, row.Name, row.HerID, row.ParentHerID = in.BrokerID, in.Kind, in.Name, in.HerID, in.ParentHerID
	row.AsyncQueue, row.SyncQueue, row.ReplyQueue, row.ErrorQueue, row.DeadQueue = in.AsyncQueue, in.SyncQueue, in.ReplyQueue, in.ErrorQueue, in.DeadQueue
	row.InboundQueue, row.ClientID, row.ContentMode = in.InboundQueue, in.ClientID, in.ContentMode
	row.AnswerWaitMS, row.ApprecVersion, row.Enabled = in.AnswerWait.Milliseconds(), in.ApprecVersion, in.Enabled
}

// checkQueue returns the problem of the name of a queue, or of a namespace: they stand in addresses on the broker.
func checkQueue(name string, optional bool) i18n.Message {
	switch {
	case name == "" && optional:
		return ""
	case name == "":
		return "amqp.queue.name-missing"
	case len(name) > maxQueueName:
		return i18n.M("amqp.queue.name-long", maxQueueName)
	case strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"'\?#<>`, r) }):
		return "amqp.queue.name-bad"
	case strings.HasPrefix(name, "/") || strings.HasSuffix(name, "/") || strings.Contains(name, "//"):
		return "amqp.queue.name-slash"
	}
	return ""
}
