package lint

import "regexp"

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
