package profile

// FixedChoice is a question that the review of the profile left to each chain, and that Schakel answers by itself: there
// is nothing to set for the chain as a whole.
type FixedChoice struct {
	// ID is the open point, such as OPEN-05.
	ID string
	// Question and Answer are for people.
	Question, Answer string
}

// FixedChoices lists what has no setting, by open point. With the rules that the settings name, every open point has an
// answer.
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
