package area

import (
	"io"
	"slices"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/format/xmlscan"
)

// feed lets one scanner read many states, so that its buffers are made once: to the scanner they are the children of
// a root element that never ends.
type feed struct {
	pieces  [4][]byte
	scan    *xmlscan.Scanner
	bounds  xmlscan.Limits
	spaces  []format.Namespace // those that open declares
	open    []byte
	begun   int // line of the scanner where the state began
	started bool
	total   int64 // bytes handed to the scanner, once it has read them all
}

// Read hands the pieces out. Behind the last one there is nothing more to read: a state that needs more is cut off.
func (f *feed) Read(p []byte) (int, error) {
	for i, piece := range f.pieces {
		if len(piece) > 0 {
			n := copy(p, piece)
			f.pieces[i] = piece[n:]
			return n, nil
		}
	}
	return 0, io.ErrUnexpectedEOF
}

// begin puts the scanner at the start of a wrapper around a state.
func (f *feed) begin(s *format.State) error {
	if f.scan == nil {
		f.scan, f.started, f.total = xmlscan.New(f, f.bounds), false, 0
	}
	if f.open == nil || !slices.Equal(f.spaces, s.Namespaces) {
		f.declare(s.Namespaces)
	}
	f.pieces = [4][]byte{nil, f.open, s.XML, []byte("</s>")}
	f.total += int64(len(f.open) + len(s.XML) + len("</s>"))
	if !f.started {
		f.total += int64(len("<r>"))
		f.pieces[0] = []byte("<r>")
		if _, err := f.scan.Next(); err != nil {
			return err
		}
		f.started = true
	}
	_, err := f.scan.Next()
	f.begun, _ = f.scan.Place()
	return err
}

func (f *feed) declare(spaces []format.Namespace) {
	f.spaces = slices.Clone(spaces)
	f.open = append(f.open[:0], "<s"...)
	for _, n := range spaces {
		f.open = append(f.open, " xmlns"...)
		if n.Prefix != "" {
			f.open = append(append(f.open, ':'), n.Prefix...)
		}
		f.open = xmlscan.AppendEscaped(append(f.open, '=', '"'), n.URI)
		f.open = append(f.open, '"')
	}
	f.open = append(f.open, '>')
}

// drain goes to the end of the wrapper. A scanner that cannot is dropped.
func (f *feed) drain() {
	for {
		tok, err := f.scan.Next()
		if err != nil {
			f.scan = nil
			return
		}
		if tok.Kind == xmlscan.End && f.scan.Depth() <= wrapperDepth {
			return
		}
	}
}

// whole tells, at the end of the wrapper, whether it is that of the whole state: what is no XML could have ended it.
func (f *feed) whole() bool { return f.scan.Token().Offset+int64(len("</s>")) == f.total }

// wrapperDepth counts the elements of the wrapper around a state.
const wrapperDepth = 2
