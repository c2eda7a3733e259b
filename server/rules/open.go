package main

// openRules are the open points of the profile's review, each an option of a
// chain collaboration.
func openRules() []Rule {
	return []Rule{
		{ID: "OPEN-01", Level: option, Text: "Delivery by webhook, by pull, or both"},
		{ID: "OPEN-02", Level: option, Text: "The largest event, and what happens to a larger one"},
		{ID: "OPEN-03", Level: option, Text: "The OAuth profile"},
		{ID: "OPEN-04", Level: option, Text: "A key required, asked for, or not looked at"},
		{ID: "OPEN-05", Level: option, Text: "Parts that can be used apart"},
		{ID: "OPEN-06", Level: option, Text: "The register as an API"},
		{ID: "OPEN-07", Level: option, Text: "Where duplicates are told"},
		{ID: "OPEN-08", Level: option, Text: "Rates by client"},
		{ID: "OPEN-09", Level: option, Text: "Who defines which document"},
		{ID: "OPEN-10", Level: option, Text: "Which versions of OpenAPI and AsyncAPI"},
		{ID: "OPEN-11", Level: option, Text: "What a subscription can select by"},
		{ID: "OPEN-12", Level: option, Text: "Edu-V notifications", Reason: "not offered; the API at /events/v1 has the same flows"},
		{ID: "OPEN-13", Level: option, Text: "Acknowledged after keeping, always"},
		{ID: "OPEN-14", Level: option, Text: "Registration by hand or by API"},
		{ID: "OPEN-15", Level: option, Text: "The first load of data", Reason: "not offered: transactions that stay synchronous are outside this exchange"},
		{ID: "OPEN-16", Level: option, Text: "Editorial remarks", Reason: "remarks on the text of the profile"},
		{ID: "OPEN-17", Level: option, Text: "Syntax of keys, other content under a key, parts of a batch, sources, lifetime"},
	}
}
