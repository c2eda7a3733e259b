package main

import "slices"

// Rule is one rule that the product is held to, in our own words.
type Rule struct {
	// ID is that of the requirements, such as EDU-10.
	ID string
	// Level gives how binding it is.
	Level string
	Text  string
	// Reason says why no test can prove it; empty for a rule with tests.
	Reason string
}

// The levels of rules: those of RFC 2119, and what the list of rules adds.
const (
	must      = "must"
	mustNot   = "must not"
	should    = "should"
	shouldNot = "should not"
	may       = "may"
	optional  = "optional"
	option    = "option"    // of a chain collaboration
	choice    = "choice"    // ours, among several
	own       = "ours"      // a rule we added
	exception = "exception" // something that does not apply
	example   = "example"
	info      = "note"
	corrected = "corrected" // an error of the text, as it holds here
	editorial = "editorial"
)

// Chapter is a part of the rules.
type Chapter struct {
	Title string
	Rules []Rule
}

// Chapters are all rules, in the order of the requirements.
func Chapters() []Chapter {
	return []Chapter{
		{"Exchange and register (Edukoppeling)", eduRules()},
		{"Idempotency", idemRules()},
		{"CloudEvents and webhooks", ceRules()},
		{"OAuth and TLS", secRules()},
		{"Choices of a chain", openRules()},
		{"Health messages by AMQP", amqpRules()},
		{"How the AMQP profile is read", amqpReadings()},
		{"Mutation delivery", mutRules()},
	}
}

// known reports whether there is a rule with this id.
func known(id string) bool {
	return slices.ContainsFunc(Chapters(), func(c Chapter) bool {
		return slices.ContainsFunc(c.Rules, func(r Rule) bool { return r.ID == id })
	})
}
