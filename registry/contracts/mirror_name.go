package contracts

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"schakel/registry"
)

// slugOf writes text in lower-case letters, digits and single hyphens.
func slugOf(text string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(text) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			b.WriteRune(r)
			gap = false
			continue
		}
		gap = true
	}
	return b.String()
}

func cutSlug(slug string, most int) string {
	return strings.TrimRight(slug[:min(len(slug), most)], "-")
}

// copyIDs are the ids that a copy may get, the first that is free: made of the
// prefix of the mirror and the id at the source, then with a few digits that only
// this source and id have.
func copyIDs(prefix, sourceID, originID string) []string {
	sum := sha256.Sum256([]byte(sourceID + "\x00" + originID))
	digits := hex.EncodeToString(sum[:4])
	slug := slugOf(originID)
	ids := []string{prefix + "-" + digits}
	if slug != "" {
		ids = []string{prefix + "-" + cutSlug(slug, 48-len(prefix)) + "-" + digits, ids[0]}
		if whole := prefix + "-" + slug; checkContractID(whole) == "" {
			ids = append([]string{whole}, ids...)
		}
	}
	return ids
}

// copyVersion is the semantic version of a number at a source that may count in
// another way: v2 and 2 are 2.0.0, and 2.1 is 2.1.0.
func copyVersion(number string) string {
	number = strings.TrimSpace(number)
	bare := strings.TrimPrefix(number, "v")
	for _, v := range []string{bare, bare + ".0", bare + ".0.0"} {
		if registry.CheckVersion(v) == "" && (v == bare || !strings.ContainsAny(bare, "-+")) {
			return v
		}
	}
	return number
}

// fitsPattern reports whether an id fits a pattern in which * stands for anything.
func fitsPattern(pattern, id string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == id
	}
	rest, ok := strings.CutPrefix(id, parts[0])
	if !ok {
		return false
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return strings.HasSuffix(rest, last)
}

// wanted reports whether any of the patterns fits; no patterns fit all.
func wanted(patterns []string, id string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return fitsPattern(p, id) })
}

// shown is text of a stranger as a field of ours: one line, or several when lines
// is set, of at most so many characters.
func shown(text string, most int, lines bool) string {
	if !lines {
		text = strings.Join(strings.Fields(text), " ")
	}
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-1]) + "…"
	}
	return storable(text)
}
