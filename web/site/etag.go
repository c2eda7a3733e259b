package site

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"
)

// MatchesTag reports whether If-None-Match names a tag, compared weakly as
// RFC 9110, 13.1.2 asks: the asker has the document already, and gets a 304.
func MatchesTag(header http.Header, tag string) bool {
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

// SetDigests sets the strong ETag and the Repr-Digest of the bytes of an answer.
func SetDigests(h http.Header, content []byte) (tag string) {
	sum := sha256.Sum256(content)
	return SetDigest(h, sum[:])
}

// SetDigest is setDigests for bytes of which the SHA-256 is known.
func SetDigest(h http.Header, sum []byte) (tag string) {
	tag = `"sha256:` + hex.EncodeToString(sum) + `"`
	h.Set("ETag", tag)
	h.Set("Repr-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(sum)+":")
	return tag
}
