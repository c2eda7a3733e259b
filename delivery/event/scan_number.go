package event

import "strconv"

// number is a JSON number in the input: buf[from:to].
type number struct {
	from, to int
	whole    bool // without fraction and exponent
}

// number takes a number; the scanner stands on its sign or first digit.
func (s *scanner) number() (number, bool) {
	found := number{from: s.pos, whole: true}
	if s.buf[s.pos] == '-' {
		s.pos++
	}
	if s.pos < len(s.buf) && s.buf[s.pos] == '0' {
		s.pos++
	} else if !s.digits() {
		return found, false
	}
	if s.skip('.', '.') {
		found.whole = false
		if !s.digits() {
			return found, false
		}
	}
	if s.skip('e', 'E') {
		found.whole = false
		s.skip('+', '-')
		if !s.digits() {
			return found, false
		}
	}
	found.to = s.pos
	return found, true
}

func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.buf) && isDigit(s.buf[s.pos]) {
		s.pos++
	}
	return s.pos > start || s.syntax("expected a digit")
}

func (s *scanner) skip(a, b byte) bool {
	if s.pos < len(s.buf) && (s.buf[s.pos] == a || s.buf[s.pos] == b) {
		s.pos++
		return true
	}
	return false
}

// isInt32 reports whether the literal is an Integer of CloudEvents (CE-03).
func isInt32(literal string) bool {
	_, err := strconv.ParseInt(literal, 10, 32)
	return err == nil
}
