package cms

import "errors"

// Bounds of what is read. A message of ours has some 200 elements, ten deep; a
// streaming writer adds one for every thousand octets of content.
const (
	maxDepth    = 32
	maxElements = 1 << 16
)

// Why a body is no BER that we read.
var (
	errTruncated = errors.New("the ASN.1 is cut off")
	errTrailing  = errors.New("there is something behind the ASN.1")
	errASN1      = errors.New("malformed ASN.1")
	errTooDeep   = errors.New("the ASN.1 is nested too deeply")
	errTooMany   = errors.New("the ASN.1 has too many elements")
)

// head is the start of a BER element.
type head struct {
	tag        byte
	size       int // octets of the header
	length     int // octets of the content, when it is definite
	indefinite bool
	minimal    bool // the length is written as DER wants it
}

func (h head) constructed() bool { return h.tag&0x20 != 0 }

// readHead reads a header. High tag numbers are refused: CMS has none.
func readHead(in []byte) (head, error) {
	if len(in) < 2 {
		return head{}, errTruncated
	}
	h := head{tag: in[0], size: 2, length: int(in[1]), minimal: true}
	switch {
	case h.tag&0x1f == 0x1f:
		return head{}, errASN1
	case in[1] == 0x80:
		h.indefinite, h.minimal, h.length = true, false, 0
		if !h.constructed() {
			return head{}, errASN1
		}
		return h, nil
	case in[1] > 0x80:
		if err := h.readLong(in); err != nil {
			return head{}, err
		}
	}
	if h.length > len(in)-h.size {
		return head{}, errTruncated
	}
	return h, nil
}

// readLong reads a length of several octets, at most four of them significant.
func (h *head) readLong(in []byte) error {
	octets := int(in[1] & 0x7f)
	if octets > 8 {
		return errASN1
	}
	if len(in) < 2+octets {
		return errTruncated
	}
	length := uint64(0)
	for _, b := range in[2 : 2+octets] {
		length = length<<8 | uint64(b)
	}
	if length > 1<<31-1 {
		return errTruncated // more than any body
	}
	h.size, h.length = 2+octets, int(length)
	h.minimal = lengthOctets(h.length) == 1+octets
	return nil
}

// toDER checks that in is one well-formed element within the bounds, and gives it with definite lengths and octet strings in one
// piece. What is DER already is returned as it is, without a copy.
func toDER(in []byte) ([]byte, error) {
	s := scanner{der: true}
	size, err := s.scan(in, 0)
	switch {
	case err != nil:
		return nil, err
	case size != len(in):
		return nil, errTrailing
	case s.der:
		return in, nil
	}
	out, _ := appendDER(make([]byte, 0, len(in)), in)
	return out, nil
}

// scanner walks through BER without keeping anything.
type scanner struct {
	elements int
	der      bool // nothing seen yet that has to be rewritten
}

// scan gives the size of the first element of in, in octets.
func (s *scanner) scan(in []byte, depth int) (int, error) {
	if s.elements++; s.elements > maxElements {
		return 0, errTooMany
	}
	if depth > maxDepth {
		return 0, errTooDeep
	}
	h, err := readHead(in)
	if err != nil {
		return 0, err
	}
	s.der = s.der && h.minimal && h.tag != tagOctets|0x20
	if !h.constructed() {
		return h.size + h.length, nil
	}
	return s.scanParts(in, h, depth)
}

func (s *scanner) scanParts(in []byte, h head, depth int) (int, error) {
	at, end := h.size, h.size+h.length
	if h.indefinite {
		end = len(in)
	}
	for at < end {
		if h.indefinite && ended(in[at:end]) {
			return at + 2, nil
		}
		if h.tag == tagOctets|0x20 && in[at]&^0x20 != tagOctets {
			return 0, errASN1 // an octet string consists of octet strings
		}
		size, err := s.scan(in[at:end], depth+1)
		if err != nil {
			return 0, err
		}
		at += size
	}
	if h.indefinite {
		return 0, errTruncated
	}
	return at, nil
}

// ended reports whether in starts with the end of an indefinite length.
func ended(in []byte) bool { return len(in) >= 2 && in[0] == 0 && in[1] == 0 }

// appendDER writes the first element of in, which scan has seen, and gives the number of octets that were read.
func appendDER(out, in []byte) (written []byte, read int) {
	h, _ := readHead(in)
	if !h.constructed() {
		end := h.size + h.length
		return append(appendHeader(out, h.tag, h.length), in[h.size:end]...), end
	}
	start := len(out)
	out, read = appendParts(out, in, h)
	tag := h.tag
	if tag == tagOctets|0x20 {
		tag = tagOctets
	}
	return insertHeader(out, start, tag), read
}

// appendParts writes what is inside a constructed element; of the pieces of an octet string only their content.
func appendParts(out, in []byte, h head) (written []byte, read int) {
	at, end := h.size, h.size+h.length
	if h.indefinite {
		end = len(in)
	}
	for at < end {
		if h.indefinite && ended(in[at:]) {
			return out, at + 2
		}
		part, err := readHead(in[at:end])
		size := 0
		switch {
		case err != nil:
			return out, end // not reached: scan has seen it
		case h.tag != tagOctets|0x20:
			out, size = appendDER(out, in[at:end])
		case part.constructed():
			out, size = appendParts(out, in[at:end], part)
		default:
			size = part.size + part.length
			out = append(out, in[at+part.size:at+size]...)
		}
		at += size
	}
	return out, at
}

// insertHeader puts a header before out[start:].
func insertHeader(out []byte, start int, tag byte) []byte {
	length := len(out) - start
	header := appendHeader(make([]byte, 0, 10), tag, length)
	out = append(out, header...)
	copy(out[start+len(header):], out[start:start+length])
	copy(out[start:], header)
	return out
}

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
