package event

import (
	"strings"

	"schakel/store/bsn"
)

// Codes of advice: what the profile asks of producers but does not make an event unreadable.
const (
	AdviceNameLength   = CodeNameLength         // CE-02: name over 20 characters
	AdviceType         = "type-not-reverse-dns" // CE-12
	AdviceTypeVersion  = "type-version"         // CE-13: other than one version such as v2
	AdviceSource       = "source-not-urn-nld"   // CE-08
	AdviceOIN          = "source-oin"           // CE-08: not an OIN of 20 digits
	AdviceLocation     = "source-location"      // CE-09: http or https
	AdviceFragment     = "dataschema-fragment"  // CE-18: RFC 3986, 4.3 has none
	AdviceSequence     = "sequence-not-integer" // CE-22
	AdviceTimestamp    = "extension-time"       // CE-24: expirytime, recordedtime not RFC 3339
	AdviceBSN          = "sensitive-bsn"        // EDU-26
	AdviceEmailAddress = "sensitive-email"      // EDU-26
)

// SourcePolicy is a chain's rule for source (CE-08).
type SourcePolicy uint8

// The source policies.
const (
	SourceURN SourcePolicy = iota // a URN of namespace nld; the default
	SourceOIN                     // urn:nld:oin: with an OIN of 20 digits
	SourceAny                     // any URI-reference
)

// Policy restricts the advice a chain wants. The zero value advises on all.
type Policy struct {
	Source       SourcePolicy
	AnyType      bool // no advice on the form of type (CE-12, CE-13)
	AllowPrivate bool // no advice on BSN and e-mail addresses (EDU-26)
}

// Advice lists where a valid event departs from the recommendations of the profile. A chain may show it, or reject events by
// it. No problem repeats a value.
func (e *Event) Advice(policy Policy) []Problem {
	f := findings{index: -1}
	policy.source(e.Source, &f)
	if !policy.AnyType {
		adviseType(e.Type, &f)
	}
	if strings.Contains(e.DataSchema, "#") {
		f.add(noPlace, "dataschema", AdviceFragment, "events.advice.fragment")
	}
	for name, value := range e.All() {
		policy.attribute(e, name, value, &f)
	}
	return f.list
}

func (p Policy) source(source string, f *findings) {
	lower := strings.ToLower(source)
	if strings.HasPrefix(lower, "http:") || strings.HasPrefix(lower, "https:") {
		f.add(noPlace, "source", AdviceLocation, "events.advice.location")
	}
	rest, urn := strings.CutPrefix(lower, "urn:nld:")
	oin, isOIN := strings.CutPrefix(rest, "oin:")
	oin, _, _ = strings.Cut(oin, ":")
	digits := len(oin) == 20 && strings.Trim(oin, "0123456789") == ""
	switch {
	case p.Source == SourceAny:
	case !urn || rest == "":
		f.add(noPlace, "source", AdviceSource, "events.advice.source")
	case isOIN && !digits:
		f.add(noPlace, "source", AdviceOIN, "events.advice.oin-digits")
	case p.Source == SourceOIN && !isOIN:
		f.add(noPlace, "source", AdviceOIN, "events.advice.oin")
	}
}

func (p Policy) attribute(e *Event, name, value string, f *findings) {
	if len(name) > 20 {
		f.add(noPlace, name, AdviceNameLength, "events.advice.name-length", quoted(name))
	}
	switch name {
	case "specversion", "time":
		return
	case "sequence":
		// A counter of nine digits would now and then look like a BSN.
		kind, _ := e.Extension("sequencetype")
		if strings.EqualFold(kind, "Integer") && !isInt32(value) {
			f.add(noPlace, name, AdviceSequence, "events.advice.sequence")
		}
		return
	case "expirytime", "recordedtime":
		if !isTime(value) {
			f.add(noPlace, name, AdviceTimestamp, "events.advice.time", name)
		}
		return
	}
	if !p.AllowPrivate {
		adviseSensitive(name, value, f)
	}
}

func adviseType(kind string, f *findings) {
	labels := strings.Split(kind, ".")
	versions := 0
	for i, label := range labels {
		if isVersion(label) {
			versions++
		} else if i > 0 && label != "" && strings.Trim(label, "0123456789") == "" {
			versions += 2 // ".v1.2" and ".2" are not one version with the prefix v
		}
	}
	if versions > 1 {
		f.add(noPlace, "type", AdviceTypeVersion, "events.advice.type-version")
	}
	if !isReverseDNS(labels) {
		f.add(noPlace, "type", AdviceType, "events.advice.type")
	}
}

func isVersion(label string) bool {
	return len(label) > 1 && label[0] == 'v' && strings.Trim(label[1:], "0123456789") == ""
}

func isReverseDNS(labels []string) bool {
	top := labels[0]
	if len(labels) < 2 || len(top) < 2 || strings.Trim(top, "abcdefghijklmnopqrstuvwxyz") != "" {
		return false
	}
	for _, label := range labels[1:] {
		if strings.Trim(label, "-_") != label || label == "" || !isLabel(label) {
			return false
		}
	}
	return true
}

func isLabel(label string) bool {
	for i := 0; i < len(label); i++ {
		if c := label[i]; !isLetter(c) && !isDigit(c) && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// adviseSensitive looks for personal data in a context attribute, which every party on the way may log (EDU-26).
func adviseSensitive(name, value string, f *findings) {
	if hasBSN(value) {
		f.add(noPlace, name, AdviceBSN, "events.advice.bsn", name)
	}
	if hasEmail(value) {
		f.add(noPlace, name, AdviceEmailAddress, "events.advice.email", name)
	}
}

// hasBSN finds a word of nine digits that passes the test of eleven.
func hasBSN(value string) bool {
	words := strings.FieldsFunc(value, func(r rune) bool {
		return r < '0' || '9' < r && r < 'A' || 'Z' < r && r < 'a' || 'z' < r && r < 0x80
	})
	for _, word := range words {
		if rest, ok := bsn.Remainder(word); ok && rest == bsn.Citizen {
			return true
		}
	}
	return false
}

// hasEmail finds name@domain.tld, the sign possibly percent-encoded.
func hasEmail(value string) bool {
	value = strings.ReplaceAll(value, "%40", "@")
	for at := strings.IndexByte(value, '@'); at >= 0; at = strings.IndexByte(value, '@') {
		if at > 0 && isLocal(value[at-1]) && isDomain(value[at+1:]) {
			return true
		}
		value = value[at+1:]
	}
	return false
}

func isLocal(c byte) bool {
	return isLetter(c) || isDigit(c) || strings.IndexByte("._+-", c) >= 0
}

// isDomain reports whether s starts with a domain name of two labels or more, the last one of letters.
func isDomain(s string) bool {
	end := 0
	for end < len(s) && (isLetter(s[end]) || isDigit(s[end]) || s[end] == '-' || s[end] == '.') {
		end++
	}
	domain := strings.TrimRight(s[:end], ".-")
	dot := strings.LastIndexByte(domain, '.')
	if dot < 1 {
		return false
	}
	top := domain[dot+1:]
	return len(top) >= 2 && isLetter(top[0]) && isLetter(top[1])
}
