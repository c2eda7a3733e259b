package cms

// Identifier octets used by what we write.
const (
	tagInteger  = 0x02
	tagOctets   = 0x04
	tagNull     = 0x05
	tagSequence = 0x30
	tagSet      = 0x31
	tagContext0 = 0xa0 // [0], constructed
	tagImplicit = 0x80 // [0], primitive
)

// element is a DER element to be written. It is measured first and written in
// one go after that, so that a payload of megabytes is copied once.
type element struct {
	tag   byte      // 0 when raw already has its own header
	raw   []byte    // the content of a primitive element
	parts []element // the content of a constructed one
	hole  int       // octets of content that the caller appends; the last element only
}

func constructed(tag byte, parts ...element) element { return element{tag: tag, parts: parts} }

func primitive(tag byte, content []byte) element { return element{tag: tag, raw: content} }

func encoded(der []byte) element { return element{raw: der} }

// content is the number of octets after the header.
func (e element) content() int {
	n := len(e.raw) + e.hole
	for _, p := range e.parts {
		n += p.size()
	}
	return n
}

// size is the number of octets with the header.
func (e element) size() int {
	n := e.content()
	if e.tag == 0 {
		return n
	}
	return 1 + lengthOctets(n) + n
}

// appendTo writes the element, without the octets of a hole.
func (e element) appendTo(out []byte) []byte {
	if e.tag != 0 {
		out = appendHeader(out, e.tag, e.content())
	}
	out = append(out, e.raw...)
	for _, p := range e.parts {
		out = p.appendTo(out)
	}
	return out
}

func (e element) bytes() []byte { return e.appendTo(make([]byte, 0, e.size())) }

// appendHeader writes an identifier octet and a length in the fewest octets.
func appendHeader(out []byte, tag byte, length int) []byte {
	octets := lengthOctets(length)
	out = append(out, tag)
	if octets == 1 {
		return append(out, byte(length))
	}
	out = append(out, 0x80|byte(octets-1))
	for shift := 8 * (octets - 2); shift >= 0; shift -= 8 {
		out = append(out, byte(length>>shift))
	}
	return out
}

// lengthOctets is the size of a length in DER.
func lengthOctets(length int) int {
	n := 1
	if length >= 0x80 {
		for ; length > 0; length >>= 8 {
			n++
		}
	}
	return n
}
