package profile

import "schakel/registry"

func eventSettings() []Setting {
	return []Setting{
		{
			Key: "events.max_event_bytes", Title: "profile.events-max-event-bytes.title",
			Explain: "profile.events-max-event-bytes.explain",
			Rules:   []string{"EDU-01a", "CE-31", "CE-32", "OPEN-02"}, Strict: "65536", Least: "65536", Most: "4194304", Unit: "profile.unit.bytes", loose: 1,
			at: func(p *registry.Profile) any { return &p.MaxEventBytes },
		},
		{
			Key: "events.oversize", Title: "profile.events-oversize.title",
			Explain: "profile.events-oversize.explain",
			Rules:   []string{"EDU-01a", "CE-21", "OPEN-02"},
			Choices: []Choice{{registry.OversizeReject, "profile.events-oversize.reject"}, {registry.OversizeClaimCheck, "profile.events-oversize.claim-check"}},
			at:      func(p *registry.Profile) any { return &p.Oversize },
		},
		{
			Key: "events.max_object_bytes", Title: "profile.events-max-object-bytes.title",
			Explain: "profile.events-max-object-bytes.explain",
			Rules:   []string{"EDU-01a", "CE-21"}, Least: "65536", Most: "67108864", Unit: "profile.unit.bytes",
			at: func(p *registry.Profile) any { return &p.MaxObjectBytes },
		},
		{
			Key: "events.batch", Title: "profile.events-batch.title",
			Explain: "profile.events-batch.explain",
			Rules:   []string{"EDU-16", "CE-66"},
			Choices: []Choice{{registry.PolicyOff, "profile.events-batch.off"}, {registry.PolicyOn, "profile.choice.accepted"}},
			at:      func(p *registry.Profile) any { return &p.Batches },
		},
		{
			Key: "events.max_batch_events", Title: "profile.events-max-batch-events.title",
			Explain: "profile.events-max-batch-events.explain",
			Rules:   []string{"CE-56"}, Least: "1", Most: "1000", Unit: "profile.unit.events",
			at: func(p *registry.Profile) any { return &p.MaxBatchEvents },
		},
		{
			Key: "events.max_batch_bytes", Title: "profile.events-max-batch-bytes.title",
			Explain: "profile.events-max-batch-bytes.explain",
			Rules:   []string{"CE-56"}, Least: "65538", Most: "16777216", Unit: "profile.unit.bytes",
			at: func(p *registry.Profile) any { return &p.MaxBatchBytes },
		},
		{
			Key: "events.unknown_types", Title: "profile.events-unknown-types.title",
			Explain: "profile.events-unknown-types.explain",
			Rules:   []string{"CE-15"}, Strict: registry.PolicyRefuse,
			Choices: []Choice{{registry.PolicyRefuse, "profile.choice.rejected-400"}, {registry.PolicyAccept, "profile.choice.accepted"}},
			at:      func(p *registry.Profile) any { return &p.UnknownTypes },
		},
		{
			Key: "events.payload", Title: "profile.events-payload.title",
			Explain: "profile.events-payload.explain",
			Rules:   []string{"CE-15", "CE-18"}, Strict: registry.PolicyRefuse,
			Choices: []Choice{
				{registry.PolicyRefuse, "profile.choice.rejected-400"},
				{registry.PolicyWarn, "profile.choice.advice"},
				{registry.PolicyOff, "profile.choice.not-looked-at"},
			},
			at: func(p *registry.Profile) any { return &p.Payload },
		},
		{
			Key: "events.type_policy", Title: "profile.events-type-policy.title",
			Explain: "profile.events-type-policy.explain",
			Rules:   []string{"CE-12", "CE-13"}, Strict: registry.PolicyStrict,
			Choices: []Choice{
				{registry.PolicyStrict, "profile.events-type-policy.strict"},
				{registry.PolicyWarn, "profile.events-type-policy.warn"},
				{registry.PolicyOff, "profile.choice.not-looked-at"},
			},
			at: func(p *registry.Profile) any { return &p.TypePolicy },
		},
		{
			Key: "events.source_policy", Title: "profile.events-source-policy.title",
			Explain: "profile.events-source-policy.explain",
			Rules:   []string{"CE-08"}, Strict: registry.SourceURN,
			Choices: []Choice{
				{registry.SourceURNOIN, "profile.events-source-policy.urn-nld-oin"},
				{registry.SourceURN, "profile.events-source-policy.urn-nld"},
				{registry.SourceAny, "profile.events-source-policy.any"},
			},
			at: func(p *registry.Profile) any { return &p.SourcePolicy },
		},
		{
			Key: "events.source_action", Title: "profile.events-source-action.title",
			Explain: "profile.events-source-action.explain",
			Rules:   []string{"CE-08"}, Strict: registry.PolicyWarn,
			Choices: []Choice{{registry.PolicyRefuse, "profile.choice.rejected-400"}, {registry.PolicyWarn, "profile.choice.advice"}},
			at:      func(p *registry.Profile) any { return &p.SourceAction },
		},
		{
			Key: "events.sensitive_attributes", Title: "profile.events-sensitive-attributes.title",
			Explain: "profile.events-sensitive-attributes.explain",
			Rules:   []string{"EDU-26"}, Strict: registry.PolicyWarn,
			Choices: []Choice{
				{registry.PolicyRefuse, "profile.choice.rejected-400"},
				{registry.PolicyWarn, "profile.choice.advice"},
				{registry.PolicyOff, "profile.choice.not-looked-at"},
			},
			at: func(p *registry.Profile) any { return &p.Sensitive },
		},
		{
			Key: "events.source_binding", Title: "profile.events-source-binding.title",
			Explain: "profile.events-source-binding.explain",
			Rules:   []string{"CE-10", "OPEN-17"}, Strict: registry.PolicyEnforce,
			Choices: []Choice{
				{registry.PolicyEnforce, "profile.events-source-binding.enforce"},
				{registry.PolicyWarn, "profile.choice.advice"},
				{registry.PolicyOff, "profile.choice.not-looked-at"},
			},
			at: func(p *registry.Profile) any { return &p.SourceBinding },
		},
	}
}
