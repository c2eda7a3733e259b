package profile

import "schakel/registry"

func sendingSettings() []Setting {
	return append(retrySettings(), wayOutSettings()...)
}

func retrySettings() []Setting {
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
	}
}

func wayOutSettings() []Setting {
	return []Setting{
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
