package xmlscan

import "bytes"

const (
	xmlNamespace   = "http://www.w3.org/XML/1998/namespace"
	xmlnsNamespace = "http://www.w3.org/2000/xmlns/"
)

// Namespace binds a prefix, empty for the default, to a namespace, empty for none.
type Namespace struct {
	Prefix string `json:"prefix"`
	URI    string `json:"uri"`
}

type binding struct {
	Namespace
	depth int  // of the element that declares it
	used  bool // a name has asked for it since the last Outer
}

// scope is the declarations that hold for the current element.
type scope struct {
	bound []binding
	known map[string]string // texts seen before, to allocate each only once
}

// enter takes the declarations of an element in and resolves its names.
func (c *scope) enter(depth int, t *Token, most int) error {
	for _, a := range t.Attrs {
		prefix, is := Declares(a.Name)
		if !is {
			continue
		}
		if len(c.bound) >= most {
			return NewLimit("more than %d namespaces in scope", most)
		}
		n := Namespace{Prefix: c.intern(prefix), URI: c.intern([]byte(Value(a.Value)))}
		if err := Allowed(n); err != nil {
			return err
		}
		c.bound = append(c.bound, binding{Namespace: n, depth: depth})
	}
	if _, ok := c.resolve(prefixOf(t.Name)); !ok {
		return malformed("the prefix of %.60q is not declared", t.Name)
	}
	return c.attributes(t.Attrs)
}

func (c *scope) leave(depth int) {
	n := len(c.bound)
	for n > 0 && c.bound[n-1].depth >= depth {
		n--
	}
	c.bound = c.bound[:n]
}

// attributes refuses prefixes that are not declared and attributes that stand there twice.
func (c *scope) attributes(attrs []Attr) error {
	for i, a := range attrs {
		if _, is := Declares(a.Name); !is {
			if prefix := prefixOf(a.Name); len(prefix) > 0 {
				if _, ok := c.resolve(prefix); !ok {
					return malformed("the prefix of %.60q is not declared", a.Name)
				}
			}
		}
		for _, b := range attrs[:i] {
			if bytes.Equal(a.Name, b.Name) || c.same(a.Name, b.Name) {
				return malformed("the attribute %.60q stands there twice", a.Name)
			}
		}
	}
	return nil
}

// same reports whether two attributes with different prefixes have one name after all.
func (c *scope) same(a, b []byte) bool {
	pa, pb := prefixOf(a), prefixOf(b)
	if len(pa) == 0 || len(pb) == 0 || !bytes.Equal(a[len(pa):], b[len(pb):]) {
		return false
	}
	ua, _ := c.resolve(pa)
	ub, _ := c.resolve(pb)
	return ua == ub
}

// resolve gives the namespace of a prefix. An unknown prefix is not ok; no prefix always is.
func (c *scope) resolve(prefix []byte) (string, bool) {
	for i := len(c.bound) - 1; i >= 0; i-- {
		if b := &c.bound[i]; b.Prefix == string(prefix) {
			b.used = true
			return b.URI, true
		}
	}
	switch string(prefix) {
	case "":
		return "", true
	case "xml":
		return xmlNamespace, true
	case "xmlns":
		return xmlnsNamespace, false
	}
	return "", false
}

func (c *scope) intern(text []byte) string {
	if s, ok := c.known[string(text)]; ok {
		return s
	}
	if c.known == nil || len(c.known) > 1000 {
		c.known = map[string]string{}
	}
	s := string(text)
	c.known[s] = s
	return s
}

// Allowed reports why a namespace may not be declared under a prefix.
func Allowed(n Namespace) error {
	switch {
	case n.Prefix == "xmlns", n.URI == xmlnsNamespace, (n.Prefix == "xml") != (n.URI == xmlNamespace):
		return malformed("the namespace %.60q under the prefix %.60q", n.URI, n.Prefix)
	case n.Prefix != "" && n.URI == "":
		return malformed("the prefix %.60q is declared as nothing", n.Prefix)
	}
	return nil
}

// Declares gives the prefix that an attribute declares, if it does.
func Declares(name []byte) ([]byte, bool) {
	rest, is := bytes.CutPrefix(name, []byte("xmlns"))
	if !is || len(rest) > 0 && rest[0] != ':' {
		return nil, false
	}
	return bytes.TrimPrefix(rest, []byte(":")), true
}

func prefixOf(name []byte) []byte {
	if at := bytes.IndexByte(name, ':'); at >= 0 {
		return name[:at]
	}
	return nil
}
