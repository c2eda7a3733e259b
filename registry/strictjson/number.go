package strictjson

// Number is a JSON number in the input: Buf[From:To].
type Number struct {
	From, To int
	Whole    bool // without fraction and exponent
}

// Number takes a number; the scanner stands on its sign or first digit.
func (s *Scanner) Number() (Number, bool) {
	found := Number{From: s.Pos, Whole: true}
	if s.Buf[s.Pos] == '-' {
		s.Pos++
	}
	if s.Pos < len(s.Buf) && s.Buf[s.Pos] == '0' {
		s.Pos++
	} else if !s.digits() {
		return found, false
	}
	if s.skip('.', '.') {
		found.Whole = false
		if !s.digits() {
			return found, false
		}
	}
	if s.skip('e', 'E') {
		found.Whole = false
		s.skip('+', '-')
		if !s.digits() {
			return found, false
		}
	}
	found.To = s.Pos
	return found, true
}

func (s *Scanner) digits() bool {
	start := s.Pos
	for s.Pos < len(s.Buf) && isDigit(s.Buf[s.Pos]) {
		s.Pos++
	}
	return s.Pos > start || s.fail(NoDigit)
}

func (s *Scanner) skip(a, b byte) bool {
	if s.Pos < len(s.Buf) && (s.Buf[s.Pos] == a || s.Buf[s.Pos] == b) {
		s.Pos++
		return true
	}
	return false
}
