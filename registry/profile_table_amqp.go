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

// usualSubjects are the codes of list 8279 for the dialogues of helsenorge.no.
func usualSubjects() []string {
	return []string{
		"DIALOG_INNBYGGER_BEHANDLEROVERSIKT", "DIALOG_INNBYGGER_DIGITALBRUKER", "DIALOG_INNBYGGER_EKONSULTASJON", "DIALOG_INNBYGGER_EKONTAKT",
		"DIALOG_INNBYGGER_KOORDINATOR", "DIALOG_INNBYGGER_OPPGAVE", "DIALOG_INNBYGGER_RESEPTFORNYELSE", "DIALOG_INNBYGGER_TEST",
		"DIALOG_INNBYGGER_TIMEONSKE", "DIALOG_INNBYGGER_TIMER", "DIALOG_INNBYGGER_TIMERESERVASJON",
	}
}
