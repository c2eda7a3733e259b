package message

import (
	"crypto/sha256"
	"encoding/hex"
	"unicode/utf8"

	amqp "github.com/Azure/go-amqp"
)

// AnswerID gives the messageId of an answer to a message, of which it gets the
// [Seed]: the same for the same original and kind, so that an answer that is sent again after a crash is seen to
// be the same one (AMQP-139), and another for each kind, such as "error", "apprec"
// and "reply". It is a UUID of version 8 made with SHA-256.
func AnswerID(seed, kind string) string {
	sum := sha256.New()
	sum.Write([]byte(kind))
	sum.Write([]byte{0})
	sum.Write([]byte(seed))
	var id amqp.UUID
	copy(id[:], sum.Sum(nil))
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}

// IsUUID reports whether an id is a UUID in its usual form, in either case.
func IsUUID(id string) bool {
	if len(id) != 36 || id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' {
		return false
	}
	_, err := hex.DecodeString(id[:8] + id[9:13] + id[14:18] + id[19:23] + id[24:])
	return err == nil
}

// binaryID gives the text of an id that came as bytes: 16 bytes that are no text are
// taken for a UUID.
func binaryID(b []byte) string {
	switch {
	case isText(string(b)):
		return string(b)
	case len(b) == len(amqp.UUID{}):
		return amqp.UUID(b).String()
	default:
		return hex.EncodeToString(b)
	}
}

// isText reports whether a value can be kept and shown: UTF-8 without control
// characters.
func isText(s string) bool {
	for i, r := range s {
		if r < ' ' || r == 0x7f {
			return false
		}
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return false
			}
		}
	}
	return true
}
