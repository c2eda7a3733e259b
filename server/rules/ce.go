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
