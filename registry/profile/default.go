package profile

import (
	"strconv"
	"time"

	"schakel/registry"
	"schakel/registry/amqp/cpa"
	"schakel/templates/i18n"
)

// LenientProfile is the profile of an installation that chooses to start leniently. It relaxes three rules: an
// Idempotency-Key is required on events alone (IDEM-03), contracts may be written in older versions of OpenAPI and
// AsyncAPI (EDU-21), and clients may authenticate with a secret (SEC-02).
func LenientProfile() registry.Profile {
	p := DefaultProfile()
	p.WriteKey, p.SpecVersions, p.ClientAuth = registry.PolicyAccept, registry.PolicyAccept, AuthSecretBasic
	return p
}

// Relaxations lists the settings in which a profile departs from what the Edukoppeling profile asks for, in the order of
// Settings. Before is the strict value, After the value of the profile.
func Relaxations(p registry.Profile) []SettingChange {
	var list []SettingChange
	for _, s := range Settings() {
		if value := s.Value(&p); s.Standing(value) == StandingRelaxed {
			list = append(list, SettingChange{s, s.Strict, value})
		}
	}
	return list
}

// DefaultProfile is the profile of an installation where nobody chose: it relaxes no rule of the Edukoppeling profile.
func DefaultProfile() registry.Profile {
	return registry.Profile{
		RequireKey: registry.PolicyRequire, KeySyntax: registry.KeyQuoted, KeyLifetime: 7 * 24 * time.Hour, WriteKey: registry.PolicyRequire, DeleteKey: registry.PolicyAccept,
		OnMismatch: registry.PolicyRefuse, OnConcurrent: registry.PolicyRefuse,
		MaxEventBytes: 65536, Oversize: registry.OversizeReject, MaxObjectBytes: 10 << 20, Batches: registry.PolicyOn, MaxBatchEvents: 100, MaxBatchBytes: 1 << 20,
		UnknownTypes: registry.PolicyRefuse, Payload: registry.PolicyRefuse, TypePolicy: registry.PolicyStrict, SourcePolicy: registry.SourceURN, SourceAction: registry.PolicyWarn,
		Sensitive: registry.PolicyWarn, SourceBinding: registry.PolicyEnforce,
		ClientBurst: 100,
		RetryWaits: []time.Duration{
			5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute,
			30 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour,
		},
		RetryAttempts: 50, RetryDeadline: 7 * 24 * time.Hour, MaxRetryAfter: 24 * time.Hour,
		CircuitFailures: 10, CircuitWait: 30 * time.Second, CircuitMaxWait: 15 * time.Minute, ContentMode: registry.ModeStructured, DedupeAt: registry.DedupeConsumer,
		SpecVersions: registry.PolicyRefuse, PartnerPublication: registry.PublicationApprove, ClientAuth: AuthPrivateKey,
		AMQPSubjects: cpa.SubjectCodes(), AMQPUnwanted: registry.UnwantedHold,
	}
}

// completed fills in what an installation does not say.
func completed(p registry.Profile) registry.Profile {
	standard := DefaultProfile()
	for _, s := range Settings() {
		if s.unset(&p) {
			s.copy(&p, &standard)
		}
	}
	return p
}

// valuesOf writes every setting as text, by key.
func valuesOf(p *registry.Profile) map[string]string {
	all := make(map[string]string)
	for _, s := range Settings() {
		all[s.Key] = s.Value(p)
	}
	return all
}

// profileOf reads settings from text; those that are not named are as in base. What cannot be read is told by key. bounds also
// holds values that differ from base against what the settings allow.
func profileOf(base registry.Profile, values map[string]string, bounds bool) (registry.Profile, registry.Problems) {
	p, wrong := base, registry.Problems{}
	for _, s := range Settings() {
		text, named := values[s.Key]
		if !named {
			continue
		}
		wrong.Add(s.Key, i18n.Message(s.set(&p, text)))
		if bounds && s.Value(&p) != s.Value(&base) {
			wrong.Add(s.Key, i18n.Message(s.check(&p)))
		}
	}
	if bounds && len(wrong) == 0 {
		checkTogether(&p, wrong)
	}
	return p, wrong
}

// checkTogether holds settings against each other.
func checkTogether(p *registry.Profile, wrong registry.Problems) {
	wrong.AddIf(p.MaxBatchBytes < p.MaxEventBytes+2,
		"events.max_batch_bytes", i18n.Message("A batch must have room for the largest event: choose at least "+strconv.Itoa(p.MaxEventBytes+2)+", or lower the largest event."))
	wrong.AddIf(p.MaxObjectBytes < p.MaxEventBytes,
		"events.max_object_bytes", i18n.Message("Data that is too large for an event must fit: choose at least "+strconv.Itoa(p.MaxEventBytes)+", or lower the largest event."))
	wrong.AddIf(p.RetryDeadline > p.KeyLifetime,
		"sending.deadline", i18n.Message("Retries end when the Idempotency-Key does (IDEM-12): choose at most "+registry.FormatDuration(p.KeyLifetime)+", or lengthen the lifetime of keys."))
	wrong.AddIf(p.CircuitMaxWait < p.CircuitWait,
		"sending.circuit_max_wait", i18n.Message("Choose at least the first pause, "+registry.FormatDuration(p.CircuitWait)+"."))
}

// strictOf takes everything back to what the profile asks, and leaves what it leaves free as it is.
func strictOf(p registry.Profile) registry.Profile {
	for _, s := range Settings() {
		if s.Strict != "" {
			_ = s.set(&p, s.Strict) // a test holds every strict value against its setting
		}
	}
	p.RetryDeadline = min(p.RetryDeadline, p.KeyLifetime)
	p.MaxBatchBytes = max(p.MaxBatchBytes, p.MaxEventBytes+2)
	p.MaxObjectBytes = max(p.MaxObjectBytes, p.MaxEventBytes)
	return p
}

// FixedChoice is a question that the review of the profile left to each chain, and that Schakel answers by itself: there
// is nothing to set for the chain as a whole.
type FixedChoice struct {
	// ID is the open point, such as OPEN-05.
	ID string
	// Question and Answer are for people.
	Question, Answer string
}

// FixedChoices lists what has no setting, by open point. With the rules that the settings name, every open point has an answer.
func FixedChoices() []FixedChoice {
	return append(fixedExchange(), fixedRoles()...)
}

func fixedExchange() []FixedChoice {
	return []FixedChoice{
		{
			"OPEN-01", "Does a receiver get events by webhook, or does it fetch them?",
			"Each receiver chooses for each endpoint: webhook or pull. It may have both.",
		},
		{
			"OPEN-11", "How wide is a subscription: all students, or one?",
			"As wide as the partners agree: each subscription names event types and may filter on source, subject and any other attribute.",
		},
		{
			"OPEN-12", "Is the notification service of Edu-V 0.9.1 offered beside CloudEvents?",
			"No. Subscribing and fetching events, the same flows, are offered by the API at /events/v1.",
		},
		{
			"OPEN-13", "In which order does the intermediary do its work?",
			"It answers 202 when the event is on disk, and never before. Delivery starts after that.",
		},
		{
			"OPEN-15", "What happens to transactions that stay synchronous, such as the first load of data?",
			"They stay what they are, beside this exchange. Events carry time and sequence, so that a receiver knows from which moment on to follow.",
		},
		{
			"OPEN-17", "May part of a batch be taken (batch.partial)?",
			"No, batch.partial is off: a batch with one event that is refused is refused whole, with the mistakes of every event, and nothing of it is stored.",
		},
	}
}

func fixedRoles() []FixedChoice {
	return []FixedChoice{
		{
			"OPEN-03", "Which OAuth profile holds, also for parties that act for schools?",
			"Client credentials with signed tokens, as the Edukoppeling profile asks. Which partner sends is known from the token; it can be held to the sources it may speak for with the setting for sources of others.",
		},
		{
			"OPEN-05", "Must a partner use everything, or can parts stand alone?",
			"Parts can stand alone: one who only sends, only receives or only reads contracts uses that part of the API and nothing else.",
		},
		{
			"OPEN-06", "Is the register of contracts an API or a list of pages?",
			"Both: /registry/v1 for machines, pages for people, and a fixed address for every version, whose bytes never change.",
		},
		{
			"OPEN-09", "Who writes the contracts: the receiver, the sender, or one for all?",
			"Whoever the partners agree on: each contract names its owner and its maintainer, and only these publish versions of it.",
		},
		{
			"OPEN-14", "Does taking part begin with a form or with an API?",
			"With a form and a person who approves it. After that subscriptions can be asked for by API too.",
		},
		{
			"OPEN-16", "Is the profile one document, and is 'confidential client' the right word?",
			"These are about the text of the profile; they change nothing in what is sent.",
		},
	}
}
