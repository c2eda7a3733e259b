package lint

import (
	"fmt"
	"strings"

	"schakel/store/bsn"
)

// sensitive looks for personal data in the context attributes, which everyone on the way may log (EDU-26): in values that
// are shown, and in what the attribute is said to be.
func (c *checker) sensitive(e *event) {
	for _, name := range names(e.attributes) {
		for _, f := range e.attributes[name] {
			kind := sensitiveSchema(name, f.schema)
			c.holds("event-sensitive", kind == "", f.at, fmt.Sprintf("The attribute %s is for %s.", short(name), kind))
		}
		for _, v := range e.values(name) {
			c.sensitiveValue(name, v)
		}
	}
	for _, x := range e.examples {
		for _, name := range names(x.attributes) {
			c.sensitiveValue(name, value{x.attributes[name], x.places[name]})
		}
	}
}

func (c *checker) sensitiveValue(name string, v value) {
	s, ok := v.value.(string)
	if !ok || name == "time" {
		return
	}
	kind := sensitiveText(s)
	if kind == "" && c.is.address.MatchString(s) {
		kind = "an e-mail address"
	}
	c.holds("event-sensitive", kind == "", fixed(v.at), fmt.Sprintf("The attribute %s shows %s.", short(name), kind))
}

// sensitiveText names the kind of number of a person that a text seems to hold; empty for none.
func sensitiveText(s string) string {
	for _, word := range strings.FieldsFunc(s, func(r rune) bool { return !isLetterOrDigit(r) }) {
		rest, ok := bsn.Remainder(word)
		switch {
		case ok && rest == bsn.Citizen:
			return "what seems to be a citizen service number (BSN)"
		case ok && rest == bsn.Education && word[0] == '1':
			return "what seems to be an education number"
		}
	}
	return ""
}

func isLetterOrDigit(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 127
}

// sensitiveSchema names the kind of personal data an attribute is for, by its name, format, pattern and words.
func sensitiveSchema(name string, schema map[string]any) string {
	words := strings.FieldsFunc(strings.ToLower(name+" "+text(schema, "title")+" "+text(schema, "description")), func(r rune) bool { return !isLetterOrDigit(r) })
	for _, word := range words {
		switch word {
		case "no", "not", "never", "geen", "niet", "nooit", "without", "zonder":
			return "" // the text warns against such data
		case "bsn", "burgerservicenummer", "bsnnummer":
			return "a citizen service number (BSN)"
		case "pgn", "onderwijsnummer", "persoonsgebondennummer":
			return "an education number"
		case "email", "emailadres", "emailaddress":
			return "an e-mail address"
		case "achternaam", "voornaam", "geboortedatum", "surname", "firstname", "lastname", "birthdate", "dateofbirth":
			return "personal data (" + word + ")"
		}
	}
	switch text(schema, "format") {
	case "email", "idn-email":
		return "an e-mail address"
	}
	switch text(schema, "pattern") {
	case `^\d{9}$`, `^[0-9]{9}$`, `\d{9}`, `[0-9]{9}`:
		return "a number of nine digits, as a citizen service number (BSN) is"
	}
	return ""
}
