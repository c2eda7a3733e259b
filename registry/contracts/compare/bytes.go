package compare

import (
	"maps"
	"strings"
)

// sameBytes gives the texts of both sides without those that say the same of bytes. OpenAPI 3.0 writes bytes as format binary,
// and in base64 as format byte; from 3.1 on that is contentMediaType and contentEncoding.
func (c *comparison) sameBytes() (was, is map[string]map[string]string) {
	was, is = c.was.sets, c.is.sets
	switch {
	case !c.old.from.newer() && c.new.from.newer():
		return withoutBytes(was, is)
	case c.old.from.newer() && !c.new.from.newer():
		is, was = withoutBytes(is, was)
	}
	return was, is
}

// withoutBytes takes what both say of bytes out of the texts of a schema of 3.0 and of one from 3.1 on.
func withoutBytes(old, new map[string]map[string]string) (o, n map[string]map[string]string) {
	_, binary := old["format"]["binary"]
	_, byteForm := old["format"]["byte"]
	if _, other := old["format"]["base64"]; other {
		byteForm = true
	}
	_, base64 := new["contentEncoding"]["base64"]
	raw := binary && len(new["contentEncoding"]) == 0 && len(new["contentMediaType"]) > 0
	coded := byteForm && base64 && len(new["contentEncoding"]) == 1
	if !raw && !coded {
		return old, new
	}
	o, n = maps.Clone(old), maps.Clone(new)
	o["format"] = maps.Clone(old["format"])
	for _, name := range []string{"binary", "byte", "base64"} {
		delete(o["format"], name)
	}
	delete(n, "contentEncoding")
	delete(n, "contentMediaType")
	return o, n
}

// unsaidBytes reports whether a body that is not JSON, XML or a text is bytes on both sides: a string of format binary in a
// document of 3.0, and no schema, or an empty one, from 3.1 on.
func (p *pair) unsaidBytes(name string, was, is any) bool {
	if !isBytes(name) {
		return false
	}
	switch {
	case !p.old.newer() && p.new.newer():
		return p.old.binary(was) && empty(is)
	case p.old.newer() && !p.new.newer():
		return empty(was) && p.new.binary(is)
	}
	return false
}

// isBytes reports whether a media type writes bytes as they are.
func isBytes(name string) bool {
	if writtenAs(name) != inJSON {
		return false
	}
	base, _, _ := strings.Cut(name, ";")
	return !strings.HasSuffix(base, "json")
}

func (s *source) binary(schema any) bool {
	object, _ := s.object(schema, "")
	return text(object, "type") == "string" && text(object, "format") == "binary"
}

// empty reports whether a schema allows anything.
func empty(schema any) bool {
	object, is := schema.(map[string]any)
	return schema == nil || schema == true || is && len(object) == 0
}
