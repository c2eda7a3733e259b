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
		CircuitFailures: 10, CircuitWait: 30 * time.Second, CircuitMaxWait: 15 * time.Minute, ContentMode: registry.ModeStructured, DedupeAt: registry.DedupeConsumer, NewDestination: registry.DestinationAtOnce,
		SpecVersions: registry.PolicyRefuse, PartnerPublication: registry.PublicationApprove, ClientAuth: AuthPrivateKey, ProofNonce: registry.PolicyOff,
		AMQPSubjects: cpa.SubjectCodes(), AMQPUnwanted: registry.UnwantedHold,
		AdministratorFactor: registry.PolicyRequire, PartnerFactor: registry.FactorOptional,
		AdministratorIdle: 2 * time.Hour, AdministratorLogin: 12 * time.Hour, PartnerIdle: 2 * time.Hour, PartnerLogin: 12 * time.Hour, ProofAge: 10 * time.Minute,
		TwoApprovals: registry.PolicyOff, TwoRoutes: registry.PolicyOff, TwoDiscards: registry.PolicyOff, TwoSettings: registry.PolicyOff, ConfirmationAge: 7 * 24 * time.Hour,
		DataEncryption: registry.PolicyOff, DataEnded: registry.DataKept,
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
		wrong.Add(s.Key, s.set(&p, text))
		if bounds && s.Value(&p) != s.Value(&base) {
			wrong.Add(s.Key, s.check(&p))
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
		"events.max_batch_bytes", i18n.M("profile.batch-too-small", strconv.Itoa(p.MaxEventBytes+2)))
	wrong.AddIf(p.MaxObjectBytes < p.MaxEventBytes,
		"events.max_object_bytes", i18n.M("profile.object-too-small", strconv.Itoa(p.MaxEventBytes)))
	wrong.AddIf(p.RetryDeadline > p.KeyLifetime,
		"sending.deadline", i18n.M("profile.deadline-too-late", registry.FormatDuration(p.KeyLifetime)))
	wrong.AddIf(p.AdministratorLogin < p.AdministratorIdle,
		"access.administrator_login", i18n.M("profile.login-too-short", registry.FormatDuration(p.AdministratorIdle)))
	wrong.AddIf(p.PartnerLogin < p.PartnerIdle,
		"access.partner_login", i18n.M("profile.login-too-short", registry.FormatDuration(p.PartnerIdle)))
	wrong.AddIf(p.AdministratorRoleLogin != 0 && p.AdministratorRoleLogin < p.AdministratorRoleIdle,
		"access.administrator_role_login", i18n.M("profile.login-too-short", registry.FormatDuration(p.AdministratorRoleIdle)))
	wrong.AddIf(p.ManagerLogin != 0 && p.ManagerLogin < p.ManagerIdle,
		"access.manager_login", i18n.M("profile.login-too-short", registry.FormatDuration(p.ManagerIdle)))
	wrong.AddIf(p.CircuitMaxWait < p.CircuitWait,
		"sending.circuit_max_wait", i18n.M("profile.longest-pause-too-short", registry.FormatDuration(p.CircuitWait)))
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
	Question, Answer i18n.Message
}

// FixedChoices lists what has no setting, by open point. With the rules that the settings name, every open point has an answer.
func FixedChoices() []FixedChoice {
	return append(fixedExchange(), fixedRoles()...)
}

func fixedExchange() []FixedChoice {
	return []FixedChoice{
		{"OPEN-01", "profile.open-01.question", "profile.open-01.answer"},
		{"OPEN-11", "profile.open-11.question", "profile.open-11.answer"},
		{"OPEN-12", "profile.open-12.question", "profile.open-12.answer"},
		{"OPEN-13", "profile.open-13.question", "profile.open-13.answer"},
		{"OPEN-15", "profile.open-15.question", "profile.open-15.answer"},
		{"OPEN-17", "profile.open-17.question", "profile.open-17.answer"},
	}
}

func fixedRoles() []FixedChoice {
	return []FixedChoice{
		{"OPEN-03", "profile.open-03.question", "profile.open-03.answer"},
		{"OPEN-05", "profile.open-05.question", "profile.open-05.answer"},
		{"OPEN-06", "profile.open-06.question", "profile.open-06.answer"},
		{"OPEN-09", "profile.open-09.question", "profile.open-09.answer"},
		{"OPEN-14", "profile.open-14.question", "profile.open-14.answer"},
		{"OPEN-16", "profile.open-16.question", "profile.open-16.answer"},
	}
}
