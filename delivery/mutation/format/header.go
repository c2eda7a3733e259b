package format

import (
	"slices"
	"strings"

	"schakel/delivery/mutation/format/xmlscan"
)

// mostDeviations limits the deviations reported of a header.
const mostDeviations = 20

func (r *Reader) deviate(what string) {
	if len(r.header.Deviations) < mostDeviations {
		line, _ := r.scan.Place()
		r.header.Deviations = append(r.header.Deviations, Deviation{Line: line, What: what})
	}
}

// readHeader reads up to the start of the first group, or to the end of the message.
func (r *Reader) readHeader() error {
	if err := r.enterMessage(); err != nil {
		return err
	}
	for {
		tok, err := r.element()
		if err != nil {
			return err
		}
		if tok.Kind == xmlscan.End { // of the message: no groups, which the schema allows (MUT-22)
			r.over = true
			return r.headed()
		}
		name, ours := r.ours(tok)
		if ours && name == "mutatieGroep" {
			r.next = true
			return r.headed()
		}
		if err := r.headerElement(name, string(tok.Name)); err != nil {
			return err
		}
	}
}

// enterMessage reads the root element and what is in it before the message. The root may be the message itself.
func (r *Reader) enterMessage() error {
	for first := true; ; first = false {
		tok, err := r.element()
		if err != nil {
			return err
		}
		if tok.Kind == xmlscan.End {
			return malformed("there is no mutatieBericht in it")
		}
		if name, ours := r.ours(tok); ours && name == "mutatieBericht" {
			r.header.Version = r.scan.Namespace()
			for _, n := range r.scan.Outer(nil) {
				r.header.Namespaces = append(r.header.Namespaces, n.Namespace)
			}
			return r.declared(tok)
		}
		if !first && r.header.BAG2() && r.scan.Namespace() == r.header.Root.Space && string(xmlscan.Local(tok.Name)) == "bagInfo" {
			if err := r.skip(); err != nil {
				return err
			}
			continue
		}
		if !first {
			if err := r.unknown(string(tok.Name)); err != nil {
				return err
			}
			continue
		}
		local := string(xmlscan.Local(tok.Name))
		prefix := string(tok.Name[:max(0, len(tok.Name)-len(local)-1)])
		r.header.Root = Name{Prefix: prefix, Space: r.scan.Namespace(), Local: local}
	}
}

// declared adds the namespaces that the message itself declares, and sorts them all by prefix.
func (r *Reader) declared(tok *xmlscan.Token) error {
	for _, a := range tok.Attrs {
		if prefix, is := xmlscan.Declares(a.Name); is {
			own := Namespace{Prefix: string(prefix), URI: xmlscan.Value(a.Value)}
			r.header.Namespaces = slices.DeleteFunc(r.header.Namespaces, func(n Namespace) bool { return n.Prefix == own.Prefix })
			r.header.Namespaces = append(r.header.Namespaces, own)
		}
	}
	sortNamespaces(r.header.Namespaces)
	return nil
}

// headerElement takes an element of the message that is no group.
func (r *Reader) headerElement(name, written string) error {
	switch name {
	case "dataset":
		return r.value(&r.header.Dataset, name)
	case "inhoud":
		return r.contents()
	}
	return r.unknown(written)
}

// contents reads inhoud. What is not in the schema is passed over and reported: files of one namespace differ (MUT-61).
func (r *Reader) contents() error {
	for {
		tok, err := r.element()
		if err != nil || tok.Kind == xmlscan.End {
			return err
		}
		name, _ := r.ours(tok)
		switch name {
		case "mutatieType":
			err = r.deliveryType()
		case "gebied":
			err = r.value(&r.header.Area, name)
		case "leveringsId":
			err = r.value(&r.header.DeliveryID, name)
		case "objectTypen":
			err = r.objectTypes()
		default:
			err = r.unknown(string(tok.Name))
		}
		if err != nil {
			return err
		}
	}
}

func (r *Reader) deliveryType() error {
	kind := string(r.header.Type)
	if err := r.value(&kind, "mutatieType"); err != nil {
		return err
	}
	if kind != string(Delta) && kind != string(Initial) {
		return malformed("the mutatieType %.40q", kind)
	}
	if r.header.Version == Namespace1 {
		r.deviate("mutatieType is not part of namespace 1.0")
	}
	r.header.Type = DeliveryType(kind)
	return nil
}

func (r *Reader) objectTypes() error {
	for {
		tok, err := r.element()
		if err != nil || tok.Kind == xmlscan.End {
			return err
		}
		name, _ := r.ours(tok)
		if name != "objectType" {
			if err := r.unknown(string(tok.Name)); err != nil {
				return err
			}
			continue
		}
		text, err := r.content()
		if err != nil {
			return err
		}
		r.header.ObjectTypes = append(r.header.ObjectTypes, text)
	}
}

// headed looks at what the header lacks.
func (r *Reader) headed() error {
	h := &r.header
	if h.Version == Namespace2 && h.Type == "" {
		r.deviate("the header has no mutatieType")
	}
	if h.Dataset == "" {
		r.deviate("the header has no dataset")
	}
	if h.DeliveryID == "" {
		r.deviate("the header has no leveringsId")
	}
	if len(h.ObjectTypes) == 0 && !h.BAG2() {
		r.deviate("the header has no objectType")
	}
	return nil
}

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
