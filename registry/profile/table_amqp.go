package profile

import "schakel/registry"

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
