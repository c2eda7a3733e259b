package xmlscan

import (
	"bytes"
	"io"
)

// Runs of text longer than minRun are passed over when a reader skims, but for their last tail bytes.
const (
	minRun = 1024
	tail   = 16
)

// source feeds a document to the decoder byte by byte. The decoder is slow on long text, and attachments are long
// text: a source that skims passes over the middle of it. It does so only for letters, digits, white space and what
// else stands in base64, and only from a > on. What follows a > up to the next other character is never part of a name,
// so leaving some of it out can neither break a document nor mend it.
type source struct {
	doc  []byte
	at   int
	skim bool
	// seen is the end of the last run that was looked at.
	seen int
	// lines are the line ends that were passed over, and cut reports whether anything was.
	lines int
	cut   bool
}

// ReadByte gives the next byte.
func (s *source) ReadByte() (byte, error) {
	if s.at >= len(s.doc) {
		return 0, io.EOF
	}
	if s.skim && s.at >= s.seen && s.at > 0 && s.doc[s.at-1] == '>' {
		s.pass()
	}
	b := s.doc[s.at]
	s.at++
	return b, nil
}

// pass leaves out the run that starts here, when it is long.
func (s *source) pass() {
	end := s.at
	for end < len(s.doc) && plainText(s.doc[end]) {
		end++
	}
	s.seen = end
	if end-s.at > minRun {
		s.lines += bytes.Count(s.doc[s.at:end-tail], []byte{'\n'})
		s.at = end - tail
		s.cut = true
	}
}

// Read gives bytes as a Reader does; the decoder takes them one by one.
func (s *source) Read(p []byte) (int, error) {
	for i := range p {
		b, err := s.ReadByte()
		if err != nil {
			if i > 0 {
				return i, nil
			}
			return 0, err
		}
		p[i] = b
	}
	return len(p), nil
}

// plainText reports whether a byte is a letter, a digit, white space, or another character of base64.
func plainText(b byte) bool {
	switch {
	case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9':
		return true
	}
	return b == '+' || b == '/' || b == '=' || b == '\n' || b == '\r' || b == ' ' || b == '\t'
}
