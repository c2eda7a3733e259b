package registry

func amqpSettings() []Setting {
	return []Setting{
		{
			Key: "amqp.subjects", Title: "Subjects of AMQP messages",
			Explain: "The codes of list 8279 that processes with health parties may use, with commas between them. A message with another code is refused.",
			Rules:   []string{"AMQP-21"}, Least: "1", Most: "200", Unit: "codes",
			at: func(p *Profile) any { return &p.AMQPSubjects },
		},
	}
}
