package main

// eduRules are the 26 prescriptions of the Edukoppeling CloudEvents profile and
// what its explanatory chapters add.
func eduRules() []Rule {
	return append(eduGeneral(), append(eduExchange(), append(eduRegister(), eduNotes()...)...)...)
}

func eduGeneral() []Rule {
	return []Rule{
		{ID: "EDU-01", Level: must, Text: "Events go between confidential clients, with data, without, or with a reference to it"},
		{ID: "EDU-01a", Level: must, Text: "Data over the size limit is kept elsewhere and referred to"},
		{ID: "EDU-01b", Level: should, Text: "An event tells of one occurrence, not of a whole collection"},
		{ID: "EDU-02", Level: must, Text: "Clients keep a secret; ours never shows in answers, logs or the database"},
		{ID: "EDU-03", Level: must, Text: "Attributes, data, size limits and bindings are those of NL GOV for CloudEvents"},
		{ID: "EDU-03e", Level: exception, Text: "No encryption of data of our own: it arrives byte for byte"},
		{ID: "EDU-03f", Level: exception, Text: "No abuse-protection handshake: OPTIONS is answered 405"},
		{ID: "EDU-04", Level: must, Text: "Between intermediaries: OAuth client credentials over TLS"},
		{ID: "EDU-05", Level: must, Text: "Each partner has an intermediary; how it couples inside is free"},
		{ID: "EDU-06", Level: must, Text: "Each partner has a register of contracts"},
		{ID: "EDU-06a", Level: must, Text: "The register has an OpenAPI description, and nothing beside it"},
		{ID: "EDU-06b", Level: must, Text: "Contracts and their versions can be listed, and one fetched; its bytes never change"},
		{ID: "EDU-06c", Level: should, Text: "A contract tells its status, owner and contact point"},
		{ID: "EDU-06d", Level: may, Text: "What is internal is made public by a step of its own"},
		{ID: "EDU-06e", Level: may, Text: "Partners fetch contracts by hand or by program, with ETag"},
	}
}

func eduExchange() []Rule {
	return []Rule{
		{ID: "EDU-07", Level: must, Text: "Partners register and subscribe; nothing goes to who may not have it"},
		{ID: "EDU-07a", Level: may, Text: "A partner sets and changes its delivery point itself"},
		{ID: "EDU-08", Level: must, Text: "Requests are made per subscription, for the delivery point and the version asked for"},
		{ID: "EDU-09", Level: must, Text: "At least once: what was accepted survives a crash, with the same id and key"},
		{ID: "EDU-10", Level: must, Text: "The rate limit of a receiver is respected: Retry-After is waited for"},
		{ID: "EDU-11", Level: may, Text: "Events leave in batches where the receiver takes them; a retried batch is the same to the byte"},
		{ID: "EDU-12", Level: may, Text: "An endpoint that is down is probed now and then, not flooded"},
		{ID: "EDU-13", Level: must, Text: "A receiver registers; a subscription works once it is approved"},
		{ID: "EDU-14", Level: must, Text: "A subscription has an HTTPS endpoint and credentials, which never come out again"},
		{ID: "EDU-15", Level: must, Text: "There is an endpoint for single events, also for foreign clients"},
		{ID: "EDU-16", Level: may, Text: "There is one for batches, which a chain can switch off"},
		{ID: "EDU-17", Level: must, Text: "Consumers get events at least once, by push or by pull"},
		{ID: "EDU-18", Level: must, Text: "Effects are made once: idempotency, retries, a dead-letter queue, replay"},
		{ID: "EDU-18a", Level: should, Text: "A consumer can tell duplicates in its own transaction, with a recipe"},
		{ID: "EDU-18b", Level: may, Text: "For old systems the intermediary keeps duplicates back"},
		{ID: "EDU-19", Level: must, Text: "202 comes when the event is on disk, whatever comes of it later"},
		{ID: "EDU-20", Level: may, Text: "What comes in is limited, with 429 and Retry-After"},
		{ID: "EDU-20a", Level: should, Text: "The limit counts each client apart"},
		{ID: "EDU-20b", Level: shouldNot, Text: "It never counts by address"},
	}
}

func eduRegister() []Rule {
	return []Rule{
		{ID: "EDU-21", Level: must, Text: "OpenAPI 3.2 for the webhook, AsyncAPI 3.1 for the data; others are refused where the chain says so"},
		{ID: "EDU-22", Level: must, Text: "Partners decide together who keeps a contract; a transfer is recorded with what was agreed"},
		{ID: "EDU-23", Level: should, Text: "The receiver defines the OpenAPI document"},
		{ID: "EDU-24", Level: should, Text: "The sender defines the AsyncAPI document", Reason: "who is owner is agreed between partners; the register records any owner"},
		{ID: "EDU-25", Level: should, Text: "A contract names the sector standard it is based on"},
		{ID: "EDU-26", Level: should, Text: "No personal data in context attributes"},
	}
}

func eduNotes() []Rule {
	return []Rule{
		{ID: "EDU-N01", Level: must, Text: "Every hop guards what passes: in, between and out"},
		{ID: "EDU-N02", Level: must, Text: "Check, keep, then acknowledge: nothing invalid is kept, nothing unkept is acknowledged"},
		{ID: "EDU-N03", Level: must, Text: "The API that takes events is listed with its description, and runs as described"},
		{ID: "EDU-N04", Level: must, Text: "Any technology can send: Go, JavaScript, curl"},
		{ID: "EDU-N05", Level: must, Text: "A contract has one place; an event type has one contract"},
		{ID: "EDU-N06", Level: may, Text: "New versions are told; nobody is moved to one"},
		{ID: "EDU-N07", Level: must, Text: "Signed or encrypted data passes untouched"},
		{ID: "EDU-N08", Level: info, Text: "What a subscription selects is agreed: filters on type, source, subject and extensions"},
		{ID: "EDU-N09", Level: info, Text: "Where order matters, events of one key come one after the other"},
		{ID: "EDU-N10", Level: info, Text: "At most once is not offered: an event without an answer is sent again"},
		{ID: "EDU-N11", Level: info, Text: "An operator can retry, replay and discard, and it is recorded"},
	}
}
