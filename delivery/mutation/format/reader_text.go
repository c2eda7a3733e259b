package format

import (
	"strings"

	"schakel/delivery/mutation/format/xmlscan"
)

// longestValue bounds a value of the header, which may be a polygon, in bytes.
const longestValue = 4 << 20

// value reads the text of a header element that may stand there once. The same again is reported, another is refused.
func (r *Reader) value(to *string, name string) error {
	text, err := r.content()
	if err != nil {
		return err
	}
	if *to != "" && *to != text {
		return malformed("%s stands there twice and says %.40q and %.40q", name, *to, text)
	}
	if *to != "" {
		r.deviate(name + " stands there twice")
	}
	*to = text
	return nil
}

// content reads the text of the current element to its end.
func (r *Reader) content() (string, error) {
	if err := r.spend(); err != nil {
		return "", err
	}
	var raw []byte
	for {
		tok, err := r.scan.Next()
		if err != nil {
			return "", err
		}
		switch tok.Kind {
		case xmlscan.Start:
			return "", malformed("the element %.60q in a text", tok.Name)
		case xmlscan.End:
			return strings.TrimSpace(string(raw)), nil
		case xmlscan.Text:
			raw = xmlscan.AppendText(raw, tok.Text)
		case xmlscan.CData:
			raw = xmlscan.AppendCData(raw, tok.Text)
		}
		if len(raw) > longestValue {
			return "", xmlscan.NewLimit("a value of more than %d bytes", longestValue)
		}
	}
}

// unknown tells of an element and passes over it.
func (r *Reader) unknown(name string) error {
	r.deviate("the element " + name + " is not known here")
	return r.skip()
}

// skip passes over the current element.
func (r *Reader) skip() error {
	for depth := r.scan.Depth(); ; {
		if err := r.spend(); err != nil {
			return err
		}
		tok, err := r.scan.Next()
		if err != nil {
			return err
		}
		if tok.Kind == xmlscan.End && r.scan.Depth() == depth {
			return nil
		}
	}
}

// spend counts what is read outside groups.
func (r *Reader) spend() error {
	if r.left--; r.left < 0 {
		return xmlscan.NewLimit("more than %d elements outside groups", r.limits.Header)
	}
	return nil
}
