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
		{"idempotency", "Idempotency"},
		{"events", "Events that come in"},
		{"intake", "Rate of what comes in"},
		{"sending", "Sending and retrying"},
		{"register", "Register of contracts"},
		{"tokens", "Access tokens"},
		{"amqp", "Exchange by AMQP"},
	}
}

// Settings is the one table of all settings of a profile, in the order they are shown and exported.
func Settings() []Setting {
	all := idempotencySettings()
	all = append(all, eventSettings()...)
	all = append(all, intakeSettings()...)
	all = append(all, sendingSettings()...)
	all = append(all, registerSettings()...)
	return append(all, amqpSettings()...)
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
			Key: "idempotency.require_key", Title: "Idempotency-Key on events",
			Explain: "Whether a request with events must carry an Idempotency-Key. Without one, a request that is repeated cannot be recognised.",
			Rules:   []string{"IDEM-02", "OPEN-04"}, Strict: registry.PolicyRequire,
			Choices: []Choice{
				{registry.PolicyRequire, "Required: without a key the answer is 400"},
				{registry.PolicyWarn, "Asked for: without a key the answer carries a warning"},
				{registry.PolicyOff, "Not looked at"},
			},
			at: func(p *registry.Profile) any { return &p.RequireKey },
		},
		{
			Key: "idempotency.key_syntax", Title: "Quotes around the key",
			Explain: "The header is a string of RFC 8941, so it has double quotes. Many programs leave them out.",
			Rules:   []string{"IDEM-I01", "OPEN-17"}, Strict: registry.KeyQuoted,
			Choices: []Choice{{registry.KeyQuoted, "Needed"}, {registry.KeyLenient, "May be left out"}},
			at:      func(p *registry.Profile) any { return &p.KeySyntax },
		},
		{
			Key: "idempotency.ttl", Title: "Lifetime of a key",
			Explain: "How long a key is kept, for what comes in and for what goes out. It must cover every retry and a replay after a restore.",
			Rules:   []string{"IDEM-07", "IDEM-12"}, Strict: "168h", Least: "24h", Most: "672h", loose: -1,
			at: func(p *registry.Profile) any { return &p.KeyLifetime },
		},
		{
			Key: "idempotency.require_key_on_writes", Title: "Idempotency-Key on other changes",
			Explain: "Whether a POST, PUT or PATCH of the APIs, such as asking for a subscription, must carry a key too. One that is sent is honoured always.",
			Rules:   []string{"IDEM-03", "IDEM-04"}, Strict: registry.PolicyRequire,
			Choices: []Choice{{registry.PolicyRequire, "Required: without a key the answer is 400"}, {registry.PolicyAccept, "Honoured when it is sent"}},
			at:      func(p *registry.Profile) any { return &p.WriteKey },
		},
		{
			Key: "idempotency.require_key_on_delete", Title: "Idempotency-Key on DELETE",
			Explain: "Whether a DELETE of the APIs must carry a key. One that is sent is honoured always: the repeated request gets the first answer.",
			Rules:   []string{"IDEM-05"}, Strict: registry.PolicyAccept,
			Choices: []Choice{{registry.PolicyRequire, "Required: without a key the answer is 400"}, {registry.PolicyAccept, "Honoured when it is sent"}},
			at:      func(p *registry.Profile) any { return &p.DeleteKey },
		},
		{
			Key: "idempotency.on_mismatch", Title: "A key used for other content",
			Explain: "What happens to events whose key was used before for something else. Those that are kept aside are answered 202, are not delivered, and wait in the quarantine for an administrator, who gets a mail.",
			Rules:   []string{"IDEM-11", "IDEM-I02", "OPEN-17"}, Strict: registry.PolicyRefuse,
			Choices: []Choice{{registry.PolicyRefuse, "Refused with 422"}, {registry.MismatchQuarantine, "Kept aside until an administrator decides"}},
			at:      func(p *registry.Profile) any { return &p.OnMismatch },
		},
		{
			Key: "idempotency.on_concurrent", Title: "A repeat while the first is stored",
			Explain: "What happens to events that are sent again while the first request with their key is still being stored. Afterwards a repeat always gets the first answer.",
			Rules:   []string{"IDEM-15", "IDEM-I06", "OPEN-17"},
			Choices: []Choice{{registry.PolicyRefuse, "Refused with 409 and Retry-After"}, {registry.ConcurrentWait, "Waits for the first and gets its answer"}},
			at:      func(p *registry.Profile) any { return &p.OnConcurrent },
		},
	}
}

func intakeSettings() []Setting {
	return []Setting{
		{
			Key: "intake.client_rate", Title: "Requests a second for each client",
			Explain: "How many requests with events one client may send on average; 0 is no limit. More gets 429 with Retry-After. Addresses are never counted (EDU-20b).",
			Rules:   []string{"EDU-20", "OPEN-08"}, Least: "0", Most: "100000", Unit: "requests a second", Zero: "No limit",
			at: func(p *registry.Profile) any { return &p.ClientRate },
		},
		{
			Key: "intake.client_burst", Title: "Requests at once for each client",
			Explain: "How many requests a client may send at once after a pause, when there is a limit.",
			Rules:   []string{"EDU-20", "OPEN-08"}, Least: "1", Most: "100000", Unit: "requests",
			at: func(p *registry.Profile) any { return &p.ClientBurst },
		},
	}
}

func registerSettings() []Setting {
	return []Setting{
		{
			Key: "register.spec_versions", Title: "Versions of OpenAPI and AsyncAPI",
			Explain: "The profile asks for OpenAPI 3.2 and AsyncAPI 3.1. Older documents, from OpenAPI 3.0 and AsyncAPI 2.6 on, can be read as well.",
			Rules:   []string{"EDU-21", "OPEN-10"}, Strict: registry.PolicyRefuse,
			Choices: []Choice{
				{registry.PolicyRefuse, "Contracts in other versions than OpenAPI 3.2 and AsyncAPI 3.1 are refused"},
				{registry.PolicyWarn, "Contracts in older versions are taken with a warning"},
				{registry.PolicyAccept, "Contracts in older versions, from OpenAPI 3.0 and AsyncAPI 2.6 on, are taken"},
			},
			at: func(p *registry.Profile) any { return &p.SpecVersions },
		},
		{
			Key: "register.partner_publication", Title: "Publication by partners",
			Explain: "A partner that owns a contract uploads its versions itself. Whether it publishes them itself too, or asks for that and an administrator decides.",
			Rules:   []string{"EDU-21", "EDU-22"},
			Choices: []Choice{{registry.PublicationApprove, "An administrator decides on each version"}, {registry.PublicationDirect, "The partner publishes itself"}},
			at:      func(p *registry.Profile) any { return &p.PartnerPublication },
		},
		{
			Key: "register.min_score", Title: "Score to publish",
			Explain: "How many points of 100 a contract needs to be published: how well it keeps the NL API Design Rules and what the profile asks of events and webhooks.",
			Rules:   []string{"EDU-21"}, Least: "0", Most: "100", Unit: "of 100", Zero: "None: the score is advice",
			at: func(p *registry.Profile) any { return &p.MinScore },
		},
		{
			Key: "tokens.client_auth", Title: "How clients prove who they are",
			Explain: "What the token endpoint accepts. Clients whose method is taken away get no new tokens; those they have work until they expire.",
			Rules:   []string{"SEC-02"}, Strict: AuthPrivateKey,
			Choices: []Choice{
				{AuthPrivateKey, "private_key_jwt alone"},
				{AuthSecretBasic, "Also a secret in the header (client_secret_basic)"},
				{AuthSecretPost, "Also a secret in the form (client_secret_post)"},
			},
			at: func(p *registry.Profile) any { return &p.ClientAuth },
		},
	}
}

func amqpSettings() []Setting {
	return []Setting{
		{
			Key: "amqp.subjects", Title: "Subjects of AMQP messages",
			Explain: "The codes of list 8279 that processes with health parties may use, with commas between them. A message with another code is refused.",
			Rules:   []string{"AMQP-21"}, Least: "1", Most: "200", Unit: "codes",
			at: func(p *registry.Profile) any { return &p.AMQPSubjects },
		},
		{
			Key: "amqp.without_recipient", Title: "AMQP messages without a recipient",
			Explain: "What happens to a business message that nobody is subscribed to. A positive AppRec would take over responsibility for it, so there is none.",
			Rules:   []string{"AMQP-16", "AMQP-86"},
			Choices: []Choice{
				{registry.UnwantedHold, "It is held without an AppRec, and delivered when somebody is subscribed"},
				{registry.UnwantedReject, "Its sender gets a negative AppRec (E21)"},
			},
			at: func(p *registry.Profile) any { return &p.AMQPUnwanted },
		},
	}
}

func sendingSettings() []Setting {
	return []Setting{
		{
			Key: "sending.retry_waits", Title: "Pauses between attempts",
			Explain: "The pauses after the first, second, third failure and so on; the last one repeats. Each is spread a little, so that not all retries come at once.",
			Rules:   []string{"EDU-18", "CE-74"}, Least: "1s", Most: "24h",
			at: func(p *registry.Profile) any { return &p.RetryWaits },
		},
		{
			Key: "sending.max_attempts", Title: "Most attempts",
			Explain: "After so many attempts a delivery goes to the dead-letter queue.",
			Rules:   []string{"EDU-18", "EDU-N11"}, Least: "1", Most: "1000", Unit: "attempts",
			at: func(p *registry.Profile) any { return &p.RetryAttempts },
		},
		{
			Key: "sending.deadline", Title: "Time to deliver",
			Explain: "So long after its event was accepted a delivery is tried by itself; then it goes to the dead-letter queue. Never longer than the lifetime of a key.",
			Rules:   []string{"IDEM-12"}, Least: "1m", Most: "672h",
			at: func(p *registry.Profile) any { return &p.RetryDeadline },
		},
		{
			Key: "sending.max_retry_after", Title: "Longest pause a receiver may ask for",
			Explain: "A Retry-After that asks for more is cut to this. A short time here means that receivers are not left alone as long as they ask.",
			Rules:   []string{"EDU-10", "CE-65"}, Strict: "24h", Least: "1m", Most: "168h", loose: -1,
			at: func(p *registry.Profile) any { return &p.MaxRetryAfter },
		},
		{
			Key: "sending.circuit_failures", Title: "Failures before a pause",
			Explain: "After so many failures in a row an endpoint is left alone for a while; 0 is never.",
			Rules:   []string{"EDU-12"}, Least: "0", Most: "1000", Unit: "failures", Zero: "Never",
			at: func(p *registry.Profile) any { return &p.CircuitFailures },
		},
		{
			Key: "sending.circuit_wait", Title: "First pause of an endpoint",
			Explain: "How long an endpoint that fails is left alone before one delivery tries it. It doubles with each try that fails.",
			Rules:   []string{"EDU-12"}, Least: "1s", Most: "1h",
			at: func(p *registry.Profile) any { return &p.CircuitWait },
		},
		{
			Key: "sending.circuit_max_wait", Title: "Longest pause of an endpoint",
			Explain: "The pause doubles no further than this.",
			Rules:   []string{"EDU-12"}, Least: "1s", Most: "24h",
			at: func(p *registry.Profile) any { return &p.CircuitMaxWait },
		},
		{
			Key: "sending.content_mode", Title: "Form of events for new endpoints",
			Explain: "What is chosen beforehand where someone adds a webhook endpoint. Endpoints that exist keep what they have.",
			Rules:   []string{"CE-50"}, Strict: registry.ModeStructured,
			Choices: []Choice{{registry.ModeStructured, "Structured: the whole event as JSON"}, {registry.ModeBinary, "Binary: attributes in headers, data as the body"}},
			at:      func(p *registry.Profile) any { return &p.ContentMode },
		},
		{
			Key: "sending.dedupe_at", Title: "Where repeated events are left out",
			Explain: "An event is known by its source and id. Consumers are asked to leave out repeats, in the transaction of their work; what cannot do so can be spared them here. Then an event that a subscription was handed before is not delivered to it again, unless a person resends it. After a crash while sending, one delivery can still arrive twice. Each subscription can ask for this by itself.",
			Rules:   []string{"EDU-18a", "EDU-18b", "OPEN-07"},
			Choices: []Choice{
				{registry.DedupeConsumer, "By consumers, and here for the subscriptions that ask for it"},
				{registry.DedupeIntermediary, "Here, for all subscriptions"},
				{registry.DedupeBoth, "Here for all subscriptions, and by consumers too"},
			},
			at: func(p *registry.Profile) any { return &p.DedupeAt },
		},
	}
}
