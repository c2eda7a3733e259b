package event

import "strconv"

// isInt32 reports whether the literal is an Integer of CloudEvents (CE-03).
func isInt32(literal string) bool {
	_, err := strconv.ParseInt(literal, 10, 32)
	return err == nil
}

// allowed reports whether every character may stand in an attribute: no
// controls, no noncharacters (CE-04). The string is UTF-8.
func allowed(value string) bool {
	for i := 0; i < len(value); i++ {
		if c := value[i]; c < 0x20 || c >= 0x7F {
			return allowedRunes(value[i:])
		}
	}
	return true
}

func allowedRunes(value string) bool {
	for _, r := range value {
		switch {
		case r < 0x20, 0x7F <= r && r <= 0x9F, 0xFDD0 <= r && r <= 0xFDEF, r&0xFFFE == 0xFFFE:
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

func hexValue(c byte) byte {
	if isDigit(c) {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
