package compare

import (
	"slices"

	"schakel/templates/i18n"
)

// phrase is the key of a text with its arguments, among which slots stand for words that depend on the place where it is met.
type phrase struct {
	key  string
	args []any
}

func say(key string, args ...any) phrase { return phrase{key, args} }

// slot is an argument of a phrase that the place fills in.
type slot int

const (
	theValue      slot = iota // the value that is meant
	theValueFirst             // the same, where a sentence begins with it
	theName                   // the property that is meant, without an article
	theNameFirst              // the same with one, where a sentence begins with it
	theBound                  // those who are bound
	theBoundFirst             // the same, where a sentence begins with them
)

// wording has the words for each slot.
type wording [theBoundFirst + 1]i18n.Message

// message fills in the words. A phrase without a key gives none.
func (p phrase) message(w wording) i18n.Message {
	if len(p.args) == 0 {
		return i18n.Message(p.key)
	}
	args := make([]any, len(p.args))
	for i, arg := range p.args {
		if at, isSlot := arg.(slot); isSlot {
			arg = w[at]
		}
		args[i] = arg
	}
	return i18n.M(p.key, args...)
}

// ending completes a text that is no sentence yet. The zero value adds nothing but the period.
type ending phrase

func (e ending) of(text i18n.Message) i18n.Message {
	if e.key == "" {
		return i18n.M("changes.sentence", text)
	}
	return i18n.M(e.key, append([]any{text}, e.args...)...)
}

// noun names something in texts: without an article, for what comes and goes; within a sentence; and where a sentence begins with
// it.
type noun struct{ bare, inside, first i18n.Message }

func (n noun) wording() wording {
	return wording{
		theValue: n.inside, theValueFirst: n.first, theName: n.bare, theNameFirst: n.first,
		theBound: "changes.clients", theBoundFirst: "changes.clients-first",
	}
}

// clients are the words for those who are bound where nothing else is named.
func clients() wording { return noun{}.wording() }

func payloadNoun() noun {
	return noun{inside: "changes.the-payload", first: "changes.the-payload-first"}
}

func headersNoun() noun {
	return noun{inside: "changes.the-headers", first: "changes.the-headers-first"}
}

func bodyNoun() noun { return noun{inside: "changes.the-body", first: "changes.the-body-first"} }

func answerNoun() noun {
	return noun{inside: "changes.the-answer", first: "changes.the-answer-first"}
}

func queryStringNoun() noun {
	return noun{inside: "changes.the-query-string", first: "changes.the-query-string-first"}
}

func partNoun(name string) noun {
	name = quote(name)
	return noun{inside: i18n.M("changes.the-part", name), first: i18n.M("changes.the-part-first", name)}
}

func headerNoun(name string) noun {
	name = quote(name)
	return noun{i18n.M("changes.header", name), i18n.M("changes.the-header", name), i18n.M("changes.the-header-first", name)}
}

func propertyNoun(name string) noun {
	name = quote(name)
	return noun{i18n.M("changes.property", name), i18n.M("changes.the-property", name), i18n.M("changes.the-property-first", name)}
}

func parameterNoun(in, name string) noun {
	name = quote(name)
	switch in {
	case "query":
		return noun{i18n.M("changes.query-parameter", name), i18n.M("changes.the-query-parameter", name), i18n.M("changes.the-query-parameter-first", name)}
	case "path":
		return noun{i18n.M("changes.path-parameter", name), i18n.M("changes.the-path-parameter", name), i18n.M("changes.the-path-parameter-first", name)}
	case "header":
		return noun{i18n.M("changes.header-parameter", name), i18n.M("changes.the-header-parameter", name), i18n.M("changes.the-header-parameter-first", name)}
	}
	return noun{i18n.M("changes.cookie-parameter", name), i18n.M("changes.the-cookie-parameter", name), i18n.M("changes.the-cookie-parameter-first", name)}
}

// of names a part of something else.
func (n noun) of(whole noun) noun {
	return noun{i18n.M("changes.of", n.bare, whole.inside), i18n.M("changes.of", n.inside, whole.inside), i18n.M("changes.of", n.first, whole.inside)}
}

// eachItem names the items of a stream.
func (n noun) eachItem() noun {
	return noun{inside: i18n.M("changes.each-item", n.inside), first: i18n.M("changes.each-item-first", n.inside)}
}

// maxJoined bounds the texts of a list, each of which lies in others.
const maxJoined = 24

// joined makes one text of several by a key with two arguments, such as changes.or.
func joined(key string, list []i18n.Message) i18n.Message {
	if len(list) > maxJoined {
		list = append(slices.Clone(list[:maxJoined]), i18n.Raw("…"))
	}
	switch len(list) {
	case 0:
		return ""
	case 1:
		return list[0]
	}
	half := len(list) / 2
	return i18n.M(key, joined(key, list[:half]), joined(key, list[half:]))
}

// toClients writes an explanation that begins with those who are bound, ofClients one that names them further on.
func toClients(key string) i18n.Message { return i18n.M(key, i18n.Message("changes.clients-first")) }

func ofClients(key string) i18n.Message { return i18n.M(key, i18n.Message("changes.clients")) }

// sentence ends a text.
func sentence(key string, args ...any) i18n.Message { return ending{}.of(i18n.M(key, args...)) }

// The endings that name the place of a body.
func inRequest() ending { return ending{key: "changes.in-request"} }

func inAnyAnswer() ending { return ending{key: "changes.in-answer"} }

func inAnswer(status string) ending { return ending{"changes.in-answer-status", []any{status}} }

func inPart(name string) ending { return ending{"changes.in-part", []any{quote(name)}} }
