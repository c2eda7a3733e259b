package profile

import "schakel/registry"

// The values of tokens.client_auth: what a client may prove itself by.
const (
	AuthPrivateKey  = "private_key_jwt"
	AuthSecretBasic = "client_secret_basic"
	AuthSecretPost  = "client_secret_post"
)

// Groups lists the groups of settings in the order they are shown.
func Groups() []Group {
	return []Group{
		{"idempotency", "profile.group.idempotency"},
		{"events", "profile.group.events"},
		{"intake", "profile.group.intake"},
		{"sending", "profile.group.sending"},
		{"register", "profile.group.register"},
		{"tokens", "profile.group.tokens"},
		{"amqp", "profile.group.amqp"},
		{"access", "profile.group.access"},
		{"data", "profile.group.data"},
	}
}

// Settings is the one table of all settings of a profile, in the order they are shown and exported.
func Settings() []Setting {
	all := idempotencySettings()
	all = append(all, eventSettings()...)
	all = append(all, intakeSettings()...)
	all = append(all, sendingSettings()...)
	all = append(all, registerSettings()...)
	all = append(all, amqpSettings()...)
	all = append(all, accessSettings()...)
	return append(all, dataSettings()...)
}

// SettingOf finds a setting by its key.
func SettingOf(key string) (Setting, bool) {
	for _, s := range Settings() {
		if s.Key == key {
			return s, true
		}
	}
	return Setting{}, false
}

func idempotencySettings() []Setting {
	return []Setting{
		{
			Key: "idempotency.require_key", Title: "profile.idempotency-require-key.title",
			Explain: "profile.idempotency-require-key.explain",
			Rules:   []string{"IDEM-02", "OPEN-04"}, Strict: registry.PolicyRequire,
			Choices: []Choice{
				{registry.PolicyRequire, "profile.choice.required"},
				{registry.PolicyWarn, "profile.idempotency-require-key.warn"},
				{registry.PolicyOff, "profile.choice.not-looked-at"},
			},
			at: func(p *registry.Profile) any { return &p.RequireKey },
		},
		{
			Key: "idempotency.key_syntax", Title: "profile.idempotency-key-syntax.title",
			Explain: "profile.idempotency-key-syntax.explain",
			Rules:   []string{"IDEM-I01", "OPEN-17"}, Strict: registry.KeyQuoted,
			Choices: []Choice{{registry.KeyQuoted, "profile.idempotency-key-syntax.quoted"}, {registry.KeyLenient, "profile.idempotency-key-syntax.lenient"}},
			at:      func(p *registry.Profile) any { return &p.KeySyntax },
		},
		{
			Key: "idempotency.ttl", Title: "profile.idempotency-ttl.title",
			Explain: "profile.idempotency-ttl.explain",
			Rules:   []string{"IDEM-07", "IDEM-12"}, Strict: "168h", Least: "24h", Most: "672h", loose: -1,
			at: func(p *registry.Profile) any { return &p.KeyLifetime },
		},
		{
			Key: "idempotency.require_key_on_writes", Title: "profile.idempotency-require-key-on-writes.title",
			Explain: "profile.idempotency-require-key-on-writes.explain",
			Rules:   []string{"IDEM-03", "IDEM-04"}, Strict: registry.PolicyRequire,
			Choices: []Choice{{registry.PolicyRequire, "profile.choice.required"}, {registry.PolicyAccept, "profile.choice.honoured"}},
			at:      func(p *registry.Profile) any { return &p.WriteKey },
		},
		{
			Key: "idempotency.require_key_on_delete", Title: "profile.idempotency-require-key-on-delete.title",
			Explain: "profile.idempotency-require-key-on-delete.explain",
			Rules:   []string{"IDEM-05"}, Strict: registry.PolicyAccept,
			Choices: []Choice{{registry.PolicyRequire, "profile.choice.required"}, {registry.PolicyAccept, "profile.choice.honoured"}},
			at:      func(p *registry.Profile) any { return &p.DeleteKey },
		},
		{
			Key: "idempotency.on_mismatch", Title: "profile.idempotency-on-mismatch.title",
			Explain: "profile.idempotency-on-mismatch.explain",
			Rules:   []string{"IDEM-11", "IDEM-I02", "OPEN-17"}, Strict: registry.PolicyRefuse,
			Choices: []Choice{{registry.PolicyRefuse, "profile.idempotency-on-mismatch.refuse"}, {registry.MismatchQuarantine, "profile.idempotency-on-mismatch.quarantine"}},
			at:      func(p *registry.Profile) any { return &p.OnMismatch },
		},
		{
			Key: "idempotency.on_concurrent", Title: "profile.idempotency-on-concurrent.title",
			Explain: "profile.idempotency-on-concurrent.explain",
			Rules:   []string{"IDEM-15", "IDEM-I06", "OPEN-17"},
			Choices: []Choice{{registry.PolicyRefuse, "profile.idempotency-on-concurrent.refuse"}, {registry.ConcurrentWait, "profile.idempotency-on-concurrent.wait"}},
			at:      func(p *registry.Profile) any { return &p.OnConcurrent },
		},
	}
}

func intakeSettings() []Setting {
	return []Setting{
		{
			Key: "intake.client_rate", Title: "profile.intake-client-rate.title",
			Explain: "profile.intake-client-rate.explain",
			Rules:   []string{"EDU-20", "OPEN-08"}, Least: "0", Most: "100000", Unit: "profile.unit.requests-a-second", Zero: "profile.intake-client-rate.zero",
			at: func(p *registry.Profile) any { return &p.ClientRate },
		},
		{
			Key: "intake.client_burst", Title: "profile.intake-client-burst.title",
			Explain: "profile.intake-client-burst.explain",
			Rules:   []string{"EDU-20", "OPEN-08"}, Least: "1", Most: "100000", Unit: "profile.unit.requests",
			at: func(p *registry.Profile) any { return &p.ClientBurst },
		},
	}
}

func registerSettings() []Setting {
	return []Setting{
		{
			Key: "register.spec_versions", Title: "profile.register-spec-versions.title",
			Explain: "profile.register-spec-versions.explain",
			Rules:   []string{"EDU-21", "OPEN-10"}, Strict: registry.PolicyRefuse,
			Choices: []Choice{
				{registry.PolicyRefuse, "profile.register-spec-versions.refuse"},
				{registry.PolicyWarn, "profile.register-spec-versions.warn"},
				{registry.PolicyAccept, "profile.register-spec-versions.accept"},
			},
			at: func(p *registry.Profile) any { return &p.SpecVersions },
		},
		{
			Key: "register.partner_publication", Title: "profile.register-partner-publication.title",
			Explain: "profile.register-partner-publication.explain",
			Rules:   []string{"EDU-21", "EDU-22"},
			Choices: []Choice{{registry.PublicationApprove, "profile.register-partner-publication.approve"}, {registry.PublicationDirect, "profile.register-partner-publication.direct"}},
			at:      func(p *registry.Profile) any { return &p.PartnerPublication },
		},
		{
			Key: "register.min_score", Title: "profile.register-min-score.title",
			Explain: "profile.register-min-score.explain",
			Rules:   []string{"EDU-21"}, Least: "0", Most: "100", Unit: "profile.unit.of-100", Zero: "profile.register-min-score.zero",
			at: func(p *registry.Profile) any { return &p.MinScore },
		},
		{
			Key: "tokens.client_auth", Title: "profile.tokens-client-auth.title",
			Explain: "profile.tokens-client-auth.explain",
			Rules:   []string{"SEC-02"}, Strict: AuthPrivateKey,
			Choices: []Choice{
				{AuthPrivateKey, "profile.tokens-client-auth.private-key-jwt"},
				{AuthSecretBasic, "profile.tokens-client-auth.client-secret-basic"},
				{AuthSecretPost, "profile.tokens-client-auth.client-secret-post"},
			},
			at: func(p *registry.Profile) any { return &p.ClientAuth },
		},
		{
			Key: "tokens.rotate_after", Title: "profile.tokens-rotate-after.title",
			Explain: "profile.tokens-rotate-after.explain",
			Rules:   []string{"SEC-05"}, Least: "0", Most: "1095", Unit: "profile.unit.days", Zero: "profile.tokens-rotate-after.zero",
			at: func(p *registry.Profile) any { return &p.TokenKeyDays },
		},
		{
			Key: "tokens.proof_nonce", Title: "profile.tokens-proof-nonce.title", Explain: "profile.tokens-proof-nonce.explain",
			Rules:   []string{"SEC-13"},
			Choices: []Choice{{registry.PolicyOff, "profile.tokens-proof-nonce.off"}, {registry.PolicyRequire, "profile.choice.always"}},
			at:      func(p *registry.Profile) any { return &p.ProofNonce },
		},
	}
}

func amqpSettings() []Setting {
	return []Setting{
		{
			Key: "amqp.subjects", Title: "profile.amqp-subjects.title",
			Explain: "profile.amqp-subjects.explain",
			Rules:   []string{"AMQP-21"}, Least: "1", Most: "200", Unit: "profile.unit.codes",
			at: func(p *registry.Profile) any { return &p.AMQPSubjects },
		},
		{
			Key: "amqp.without_recipient", Title: "profile.amqp-without-recipient.title",
			Explain: "profile.amqp-without-recipient.explain",
			Rules:   []string{"AMQP-16", "AMQP-86"},
			Choices: []Choice{
				{registry.UnwantedHold, "profile.amqp-without-recipient.hold"},
				{registry.UnwantedReject, "profile.amqp-without-recipient.reject"},
			},
			at: func(p *registry.Profile) any { return &p.AMQPUnwanted },
		},
	}
}

func sendingSettings() []Setting {
	return []Setting{
		{
			Key: "sending.retry_waits", Title: "profile.sending-retry-waits.title",
			Explain: "profile.sending-retry-waits.explain",
			Rules:   []string{"EDU-18", "CE-74"}, Least: "1s", Most: "24h",
			at: func(p *registry.Profile) any { return &p.RetryWaits },
		},
		{
			Key: "sending.max_attempts", Title: "profile.sending-max-attempts.title",
			Explain: "profile.sending-max-attempts.explain",
			Rules:   []string{"EDU-18", "EDU-N11"}, Least: "1", Most: "1000", Unit: "profile.unit.attempts",
			at: func(p *registry.Profile) any { return &p.RetryAttempts },
		},
		{
			Key: "sending.deadline", Title: "profile.sending-deadline.title",
			Explain: "profile.sending-deadline.explain",
			Rules:   []string{"IDEM-12"}, Least: "1m", Most: "672h",
			at: func(p *registry.Profile) any { return &p.RetryDeadline },
		},
		{
			Key: "sending.max_retry_after", Title: "profile.sending-max-retry-after.title",
			Explain: "profile.sending-max-retry-after.explain",
			Rules:   []string{"EDU-10", "CE-65"}, Strict: "24h", Least: "1m", Most: "168h", loose: -1,
			at: func(p *registry.Profile) any { return &p.MaxRetryAfter },
		},
		{
			Key: "sending.circuit_failures", Title: "profile.sending-circuit-failures.title",
			Explain: "profile.sending-circuit-failures.explain",
			Rules:   []string{"EDU-12"}, Least: "0", Most: "1000", Unit: "profile.unit.failures", Zero: "profile.sending-circuit-failures.zero",
			at: func(p *registry.Profile) any { return &p.CircuitFailures },
		},
		{
			Key: "sending.circuit_wait", Title: "profile.sending-circuit-wait.title",
			Explain: "profile.sending-circuit-wait.explain",
			Rules:   []string{"EDU-12"}, Least: "1s", Most: "1h",
			at: func(p *registry.Profile) any { return &p.CircuitWait },
		},
		{
			Key: "sending.circuit_max_wait", Title: "profile.sending-circuit-max-wait.title",
			Explain: "profile.sending-circuit-max-wait.explain",
			Rules:   []string{"EDU-12"}, Least: "1s", Most: "24h",
			at: func(p *registry.Profile) any { return &p.CircuitMaxWait },
		},
		{
			Key: "sending.content_mode", Title: "profile.sending-content-mode.title",
			Explain: "profile.sending-content-mode.explain",
			Rules:   []string{"CE-50"}, Strict: registry.ModeStructured,
			Choices: []Choice{{registry.ModeStructured, "profile.sending-content-mode.structured"}, {registry.ModeBinary, "profile.sending-content-mode.binary"}},
			at:      func(p *registry.Profile) any { return &p.ContentMode },
		},
		{
			Key: "sending.dedupe_at", Title: "profile.sending-dedupe-at.title",
			Explain: "profile.sending-dedupe-at.explain",
			Rules:   []string{"EDU-18a", "EDU-18b", "OPEN-07"},
			Choices: []Choice{
				{registry.DedupeConsumer, "profile.sending-dedupe-at.consumer"},
				{registry.DedupeIntermediary, "profile.sending-dedupe-at.intermediary"},
				{registry.DedupeBoth, "profile.sending-dedupe-at.both"},
			},
			at: func(p *registry.Profile) any { return &p.DedupeAt },
		},
		{
			Key: newDestination, Title: "profile.sending-new-destination.title",
			Explain: "profile.sending-new-destination.explain",
			Rules:   []string{"EDU-14"},
			Choices: []Choice{
				{registry.DestinationApproval, "profile.sending-new-destination.approval"},
				{registry.DestinationProof, "profile.sending-new-destination.proof"},
				{registry.DestinationAtOnce, "profile.sending-new-destination.at-once"},
			},
			at: func(p *registry.Profile) any { return &p.NewDestination },
		},
		{
			Key: "sending.rotate_after", Title: "profile.sending-rotate-after.title",
			Explain: "profile.sending-rotate-after.explain",
			Rules:   []string{"SEC-05"}, Least: "0", Most: "1095", Unit: "profile.unit.days", Zero: "profile.tokens-rotate-after.zero",
			at: func(p *registry.Profile) any { return &p.SignKeyDays },
		},
	}
}
