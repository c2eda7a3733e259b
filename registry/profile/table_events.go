package profile

import "schakel/registry"

func eventSettings() []Setting {
	return []Setting{
		{
			Key: "events.max_event_bytes", Title: "Largest event",
			Explain: "Everyone must take 65,536 bytes; larger data is put elsewhere and referred to. Partners who hold to the profile may refuse what is larger.",
			Rules:   []string{"EDU-01a", "CE-31", "CE-32", "OPEN-02"}, Strict: "65536", Least: "65536", Most: "4194304", Unit: "bytes", loose: 1,
			at: func(p *registry.Profile) any { return &p.MaxEventBytes },
		},
		{
			Key: "events.oversize", Title: "Events that are too large",
			Explain: "What happens to an event whose data makes it larger than that. Data that is kept apart leaves as dataref: an address of ours, where receivers of the event fetch it with their own token. The data of an event whose type is sent by AMQP is always kept apart when it is too large, and is sent whole in the AMQP message.",
			Rules:   []string{"EDU-01a", "CE-21", "OPEN-02"},
			Choices: []Choice{{registry.OversizeReject, "Refused with 413"}, {registry.OversizeClaimCheck, "Taken: the data is kept apart, and the event refers to it"}},
			at:      func(p *registry.Profile) any { return &p.Oversize },
		},
		{
			Key: "events.max_object_bytes", Title: "Largest data kept apart",
			Explain: "How large the data of one event may be when it is kept apart. It is in the database, and in every backup, as long as its event.",
			Rules:   []string{"EDU-01a", "CE-21"}, Least: "65536", Most: "67108864", Unit: "bytes",
			at: func(p *registry.Profile) any { return &p.MaxObjectBytes },
		},
		{
			Key: "events.batch", Title: "Batches",
			Explain: "Whether clients may send several events in one request.",
			Rules:   []string{"EDU-16", "CE-66"},
			Choices: []Choice{{registry.PolicyOff, "Refused with 415"}, {registry.PolicyOn, "Taken"}},
			at:      func(p *registry.Profile) any { return &p.Batches },
		},
		{
			Key: "events.max_batch_events", Title: "Most events in a batch",
			Explain: "A batch with more gets 413.",
			Rules:   []string{"CE-56"}, Least: "1", Most: "1000", Unit: "events",
			at: func(p *registry.Profile) any { return &p.MaxBatchEvents },
		},
		{
			Key: "events.max_batch_bytes", Title: "Largest batch",
			Explain: "A larger batch gets 413. It must have room for the largest event.",
			Rules:   []string{"CE-56"}, Least: "65538", Most: "16777216", Unit: "bytes",
			at: func(p *registry.Profile) any { return &p.MaxBatchBytes },
		},
		{
			Key: "events.unknown_types", Title: "Event types without a contract",
			Explain: "What happens to an event of a type that no published contract defines, when the client was granted it.",
			Rules:   []string{"CE-15"}, Strict: registry.PolicyRefuse,
			Choices: []Choice{{registry.PolicyRefuse, "Refused with 400"}, {registry.PolicyAccept, "Taken"}},
			at:      func(p *registry.Profile) any { return &p.UnknownTypes },
		},
		{
			Key: "events.payload", Title: "Data that does not fit its contract",
			Explain: "What happens to an event whose data, datacontenttype or dataschema is not as a published version of its contract says.",
			Rules:   []string{"CE-15", "CE-18"}, Strict: registry.PolicyRefuse,
			Choices: []Choice{
				{registry.PolicyRefuse, "Refused with 400"},
				{registry.PolicyWarn, "Taken with advice in the answer"},
				{registry.PolicyOff, "Not looked at"},
			},
			at: func(p *registry.Profile) any { return &p.Payload },
		},
		{
			Key: "events.type_policy", Title: "Form of event types",
			Explain: "A type starts with a domain name in reverse and has at most one version, such as nl.example.students.student-changed.v2.",
			Rules:   []string{"CE-12", "CE-13"}, Strict: registry.PolicyStrict,
			Choices: []Choice{
				{registry.PolicyStrict, "Another form is refused with 400"},
				{registry.PolicyWarn, "Another form is taken with advice in the answer"},
				{registry.PolicyOff, "Not looked at"},
			},
			at: func(p *registry.Profile) any { return &p.TypePolicy },
		},
		{
			Key: "events.source_policy", Title: "Form of sources",
			Explain: "What a source should look like.",
			Rules:   []string{"CE-08"}, Strict: registry.SourceURN,
			Choices: []Choice{
				{registry.SourceURNOIN, "urn:nld:oin: with an OIN of 20 digits"},
				{registry.SourceURN, "A URN that begins with urn:nld:"},
				{registry.SourceAny, "Any URI-reference"},
			},
			at: func(p *registry.Profile) any { return &p.SourcePolicy },
		},
		{
			Key: "events.source_action", Title: "Sources of another form",
			Explain: "What happens to an event whose source has not the form above.",
			Rules:   []string{"CE-08"}, Strict: registry.PolicyWarn,
			Choices: []Choice{{registry.PolicyRefuse, "Refused with 400"}, {registry.PolicyWarn, "Taken with advice in the answer"}},
			at:      func(p *registry.Profile) any { return &p.SourceAction },
		},
		{
			Key: "events.sensitive_attributes", Title: "Personal data in attributes",
			Explain: "Every party on the way may log the attributes of an event, so no citizen service number (BSN) or e-mail address belongs there.",
			Rules:   []string{"EDU-26"}, Strict: registry.PolicyWarn,
			Choices: []Choice{
				{registry.PolicyRefuse, "Refused with 400"},
				{registry.PolicyWarn, "Taken with advice in the answer"},
				{registry.PolicyOff, "Not looked at"},
			},
			at: func(p *registry.Profile) any { return &p.Sensitive },
		},
		{
			Key: "events.source_binding", Title: "Sources of others",
			Explain: "What happens to an event from a source that its client was not granted. Types are held to what was granted always.",
			Rules:   []string{"CE-10", "OPEN-17"}, Strict: registry.PolicyEnforce,
			Choices: []Choice{
				{registry.PolicyEnforce, "Refused with 403"},
				{registry.PolicyWarn, "Taken with advice in the answer"},
				{registry.PolicyOff, "Not looked at"},
			},
			at: func(p *registry.Profile) any { return &p.SourceBinding },
		},
	}
}
