package message

import (
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf8"

	amqp "github.com/Azure/go-amqp"
)

// Tags of a packed correlationId, by its AMQP type.
const (
	packedText   = 's'
	packedNumber = 'n' // ulong
	packedUUID   = 'u'
	packedBinary = 'b'
)

// PackCorrelation writes a correlationId as it stood in a message, with its AMQP type, for [UnpackCorrelation]. It gives nil
// when text, the result of [Decode], is the same string.
func PackCorrelation(value any, text string) []byte {
	switch v := value.(type) {
	case string:
		if v == text {
			return nil
		}
		return append([]byte{packedText}, v...)
	case uint64:
		return binary.BigEndian.AppendUint64([]byte{packedNumber}, v)
	case amqp.UUID:
		return append([]byte{packedUUID}, v[:]...)
	case []byte:
		return append([]byte{packedBinary}, v...)
	}
	return nil
}

// UnpackCorrelation gives the correlationId to write in an answer: what was packed, else text as a string, and nil for neither.
func UnpackCorrelation(packed []byte, text string) any {
	if len(packed) == 0 {
		if text == "" {
			return nil
		}
		return text
	}
	switch rest := packed[1:]; {
	case packed[0] == packedText:
		return string(rest)
	case packed[0] == packedNumber && len(rest) == 8:
		return binary.BigEndian.Uint64(rest)
	case packed[0] == packedUUID && len(rest) == len(amqp.UUID{}):
		return amqp.UUID(rest)
	case packed[0] == packedBinary:
		return rest
	}
	return text
}

// correlation reads a correlationId. Any text, number, binary or UUID will do: an answer carries what came, and the text
// is for finding and showing it, with what cannot be shown left out.
func (d *decoder) correlation(value any) (text string, as any) {
	known := true
	switch v := value.(type) {
	case nil:
		return "", nil
	case string:
		text, known = v, utf8.ValidString(v)
	case uint64, amqp.UUID, []byte:
		text, _ = textOf(v)
	default:
		text = d.text(FieldCorrelationID, v)
		return text, text
	}
	if !known || len(text) > maxProse {
		d.unread[FieldCorrelationID] = true
		return "", nil
	}
	if value == text && IsUUID(text) {
		return text, nil // the text says all of it, as the profile requires
	}
	return shownID(text), value
}

// shownID is an id without white space around it and without control characters, in at most maxText bytes. An id that is
// nothing but those stays visible as what can be shown of it.
func shownID(id string) string {
	shown := strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, id))
	if shown == "" && id != "" {
		shown = "(blank)"
	}
	if len(shown) > maxText {
		shown = strings.ToValidUTF8(shown[:maxText], "")
	}
	return shown
}
