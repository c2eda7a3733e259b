package web

import (
	"net/http"
	"strings"
)

// matchesTag reports whether If-None-Match names a tag, compared weakly as
// RFC 9110, 13.1.2 asks: the asker has the document already, and gets a 304.
func matchesTag(header http.Header, tag string) bool {
	for _, line := range header.Values("If-None-Match") {
		for _, given := range strings.Split(line, ",") {
			given = strings.TrimPrefix(strings.TrimSpace(given), "W/")
			if given == "*" || given == tag {
				return true
			}
		}
	}
	return false
}
