package main

import (
	"fmt"
	"regexp"
	"strings"
)

// kinds lists licences by SPDX identifier with phrases that stand in the text of each, in lower case with single spaces. not are phrases of
// licences that contain the former.
var kinds = []struct {
	id          string
	phrase, not string
}{
	{"Apache-2.0", "apache license version 2.0", ""},
	{"MIT", "permission is hereby granted, free of charge", ""},
	{"BSD-3-Clause", "may be used to endorse or promote products", "all advertising materials"},
	{"BSD-2-Clause", "redistributions in binary form must reproduce", "may be used to endorse or promote products"},
	{"ISC", "purpose with or without fee is hereby granted, provided that", ""},
	{"0BSD", "purpose with or without fee is hereby granted.", "provided that the above copyright"},
	{"EUPL-1.2", "european union public licence v. 1.2", ""},
	{"MPL-2.0", "mozilla public license version 2.0", ""},
}

var spaces = regexp.MustCompile(`[\s>*#]+`)

// squeezed is a text in lower case with single spaces, to compare with others.
func squeezed(text string) string { return strings.ToLower(spaces.ReplaceAllString(text, " ")) }

// identify names the licences in a text as an SPDX expression. A text that it does not know is an error: somebody has to read it.
func identify(text string) (string, error) {
	plain := strings.ReplaceAll(squeezed(text), "apache license, version", "apache license version")
	var ids []string
	for _, k := range kinds {
		if strings.Contains(plain, k.phrase) && (k.not == "" || !strings.Contains(plain, k.not)) {
			ids = append(ids, k.id)
		}
	}
	if len(ids) == 0 {
		return "", fmt.Errorf("no known licence begins with %q: read it, and add it to kinds", text[:min(len(text), 60)])
	}
	return strings.Join(ids, " AND "), nil
}

// copyright matches the lines of a licence that differ between those who use it.
var copyright = regexp.MustCompile(`(?i)^\W*(copyright\b.*(\d{4}|\(c\)|©|authors)|©|\(c\) \d|all rights reserved\.?$)`)

// split takes the lines that name owners out of a licence, so that equal texts are shown once.
func split(text string) (owners []string, body string) {
	var rest []string
	for line := range strings.Lines(strings.ReplaceAll(text, "\r\n", "\n")) {
		line = strings.TrimRight(line, " \t\n")
		if copyright.MatchString(line) {
			owners = append(owners, strings.TrimSpace(line))
			continue
		}
		rest = append(rest, line)
	}
	return owners, strings.Trim(strings.Join(rest, "\n"), "\n")
}
