package lint

import (
	"fmt"
	"regexp"
	"strings"
)

// typeName holds the name of an event type against CE-12 to CE-14.
func (c *checker) typeName(name, at string) {
	where := fixed(at)
	c.holds("event-type-name", c.is.reverseDomain.MatchString(name), where, fmt.Sprintf("The type %q does not start with a domain name turned around.", short(name)))
	if versions := c.versionsIn(name); len(versions) > 0 {
		ok := len(versions) == 1 && c.is.version.MatchString(versions[0])
		c.holds("event-type-version", ok, where, fmt.Sprintf("The type %q has %s as its version.", short(name), strings.Join(versions, " and ")))
	}
	labels := strings.Split(name, ".")
	if len(labels) >= 3 {
		c.holds("event-type-domain", pluralOrSource(labels[1]), where, fmt.Sprintf("%q in the type %q is neither a data source nor a plural.", short(labels[1]), short(name)))
	}
}

// versionsIn are the parts of a type that are version numbers.
func (c *checker) versionsIn(name string) []string {
	var list []string
	for _, label := range strings.Split(name, ".") {
		switch {
		case c.is.number.MatchString(label):
			list = append(list, label)
		default:
			list = append(list, c.is.suffix.FindAllString(label, -1)...)
		}
	}
	return list
}

// pluralOrSource guesses: data sources are known by a short name, and plurals end in s, en or a.
func pluralOrSource(label string) bool {
	return len(label) <= 5 || strings.Contains(label, "-") || strings.HasSuffix(label, "s") || strings.HasSuffix(label, "en") || strings.HasSuffix(label, "a")
}

// typePatterns are the expressions for event types.
type typePatterns struct {
	reverseDomain, version, number, suffix *regexp.Regexp
}

func newTypePatterns() typePatterns {
	return typePatterns{
		reverseDomain: regexp.MustCompile(`^[a-z]{2,}(\.[a-z0-9]([a-z0-9_-]*[a-z0-9])?){2,}$`),
		version:       regexp.MustCompile(`^v\d+$`),
		number:        regexp.MustCompile(`^[vV]?\d+([-_]\d+)*$`),
		suffix:        regexp.MustCompile(`[-_][vV]\d+([-_]\d+)*$`),
	}
}

// patterns are the expressions that are used often.
type patterns struct {
	kebab, lowerCamel, upperCamel, semver, release, major, address *regexp.Regexp
}

func newPatterns() patterns {
	const number, word = `(0|[1-9]\d*)`, `(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)`
	return patterns{
		kebab:      regexp.MustCompile(`^(/|(/_[a-z0-9]+|/(([a-z0-9\-]+|\{[^}]+\})(/([a-z0-9\-.]+|\{[^}]+\}))*)(/_[a-z]+)?)/?)$`),
		lowerCamel: regexp.MustCompile(`^\$?[a-z][a-z\d]*([A-Z][a-z\d]*)*$`),
		upperCamel: regexp.MustCompile(`^[A-Z][a-z0-9]*([A-Z0-9]([a-z0-9]+|$))*$`),
		semver:     regexp.MustCompile(`^` + number + `\.` + number + `\.` + number + `(-` + word + `(\.` + word + `)*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$`),
		release:    regexp.MustCompile(`^3(\.\d+){1,2}$`),
		address:    regexp.MustCompile(`[^@\s/:]+@[^@\s/:]+\.[A-Za-z]{2,}`),
		major:      regexp.MustCompile(`/v[\d+]`),
	}
}

// expressions are all patterns, compiled once a document.
type expressions struct {
	patterns
	typePatterns
}
