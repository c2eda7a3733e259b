package main

// ceRules are the rules of CloudEvents, the NL GOV profile and the webhook
// specification that bind us.
func ceRules() []Rule {
	return append(ceAttributes(), append(ceFormat(), ceWebhook()...)...)
}

func ceAttributes() []Rule {
	return []Rule{
		{ID: "CE-01", Level: must, Text: "id, source, specversion and type are there and not empty"},
		{ID: "CE-02", Level: must, Text: "Attribute names hold only a-z and 0-9"},
		{ID: "CE-03", Level: must, Text: "Values are of the types of CloudEvents; integers of 32 bits without a fraction"},
		{ID: "CE-04", Level: must, Text: "No control characters, noncharacters or lone surrogates"},
		{ID: "CE-05", Level: must, Text: "source and id name one event, also when it is sent again"},
		{ID: "CE-06", Level: must, Text: "An id that identifies the event for good is used"},
		{ID: "CE-07", Level: should, Text: "Else the id is a random UUID"},
		{ID: "CE-08", Level: should, Text: "source is a URN of nld; advice, or refused where the chain says so"},
		{ID: "CE-09", Level: must, Text: "source is a URI-reference and not empty"},
		{ID: "CE-10", Level: must, Text: "A client sends for the sources it was granted"},
		{ID: "CE-11", Level: must, Text: "specversion is 1.0"},
		{ID: "CE-12", Level: must, Text: "type begins with a domain in reverse"},
		{ID: "CE-13", Level: must, Text: "type has at most one version, as v2"},
		{ID: "CE-14", Level: should, Text: "type prefers the data source to the organisation"},
		{ID: "CE-15", Level: must, Text: "Every type can be looked up: it belongs to a contract"},
		{ID: "CE-16", Level: should, Text: "type changes when the change breaks, and old and new run side by side"},
		{ID: "CE-17", Level: should, Text: "datacontenttype is a media type; absent means JSON"},
		{ID: "CE-18", Level: must, Text: "dataschema is an absolute URI"},
		{ID: "CE-19", Level: must, Text: "subject is not empty when it is there"},
		{ID: "CE-20", Level: must, Text: "time is of RFC 3339, and leaves as it came"},
		{ID: "CE-21", Level: optional, Text: "dataref is a URI-reference to data elsewhere"},
		{ID: "CE-22", Level: optional, Text: "sequence and sequencetype pass; a wrong pair is told"},
		{ID: "CE-23", Level: must, Text: "Unknown extensions pass unchanged, a number as a number"},
		{ID: "CE-24", Level: may, Text: "Known extensions such as traceparent pass, and expirytime is respected"},
		{ID: "CE-30", Level: may, Text: "data is optional and of any media type"},
		{ID: "CE-31", Level: must, Text: "Events of up to 64 KiB pass"},
		{ID: "CE-32", Level: should, Text: "The limit is never below that; above it 413, and the connection lives"},
	}
}

func ceFormat() []Rule {
	return []Rule{
		{ID: "CE-40", Level: must, Text: "application/cloudevents+json, extensions at the top"},
		{ID: "CE-41", Level: must, Text: "null is as absent"},
		{ID: "CE-42", Level: must, Text: "data or data_base64, never both"},
		{ID: "CE-43", Level: must, Text: "JSON data is the value itself, other data a string"},
		{ID: "CE-44", Level: must, Text: "No member twice, no bad UTF-8, nothing after the end, bounded depth"},
		{ID: "CE-50", Level: should, Text: "We send structured mode"},
		{ID: "CE-51", Level: must, Text: "We take structured and binary mode"},
		{ID: "CE-52", Level: must, Text: "Content-Type tells the mode"},
		{ID: "CE-53", Level: must, Text: "Binary mode: attributes in ce- headers, each once"},
		{ID: "CE-54", Level: must, Text: "Header values are quoted and percent-encoded, both ways"},
		{ID: "CE-55", Level: shouldNot, Text: "In structured mode ce- headers do not count"},
		{ID: "CE-56", Level: must, Text: "A batch is an array, may be empty, and has a largest size"},
		{ID: "CE-57", Level: own, Text: "One wrong event refuses the whole batch, and nothing is kept"},
		{ID: "CE-58", Level: must, Text: "Nothing is lost between the modes"},
	}
}

func ceWebhook() []Rule {
	return []Rule{
		{ID: "CE-60", Level: must, Text: "POST over HTTPS with a payload"},
		{ID: "CE-61", Level: must, Text: "Every 2xx of a receiver is a delivery"},
		{ID: "CE-62", Level: must, Text: "We answer 202: accepted, not yet handled"},
		{ID: "CE-63", Level: mustNot, Text: "A redirect is never followed"},
		{ID: "CE-64", Level: should, Text: "410 ends the subscription"},
		{ID: "CE-65", Level: must, Text: "429 is waited for as long as it says"},
		{ID: "CE-66", Level: must, Text: "A format we do not know is 415"},
		{ID: "CE-67", Level: must, Text: "Other errors have their status, as problem documents"},
		{ID: "CE-68", Level: must, Text: "The token is in the Authorization header, and refused in the address"},
		{ID: "CE-69", Level: mustNot, Text: "No challenge: WWW-Authenticate informs alone"},
		{ID: "CE-74", Level: own, Text: "The table of what each answer of a receiver leads to"},
		{ID: "CE-78", Level: may, Text: "Abuse protection by OPTIONS", Reason: "excluded by the profile (EDU-03f) and not offered"},
		{ID: "CE-80", Level: choice, Text: "The words and filters of CloudEvents subscriptions"},
		{ID: "CE-81", Level: choice, Text: "xRegistry", Reason: "not final, and not offered; the register has an API of its own"},
		{ID: "CE-82", Level: may, Text: "Other bindings than HTTP", Reason: "outside this profile"},
	}
}

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
