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

// Local is the part of a qualified name behind its prefix.
func Local(name []byte) []byte { return name[bytes.IndexByte(name, ':')+1:] }

// Namespace is the namespace of the current Start or End token's element.
func (s *Scanner) Namespace() string {
	uri, _ := s.scope.resolve(prefixOf(s.tokens.Name))
	return uri
}

// AttrNamespace is the namespace of an attribute of the current Start token: none without a prefix.
func (s *Scanner) AttrNamespace(a Attr) string {
	prefix := prefixOf(a.Name)
	if _, is := Declares(a.Name); is {
		return xmlnsNamespace
	}
	if prefix == nil {
		return ""
	}
	uri, _ := s.scope.resolve(prefix)
	return uri
}

// Lookup gives the namespace a prefix has at the current token.
func (s *Scanner) Lookup(prefix string) (string, bool) { return s.scope.resolve([]byte(prefix)) }

// Intern gives a text that is likely to come again, so that it takes memory once.
func (s *Scanner) Intern(text []byte) string { return s.scope.intern(text) }

// Outer is a declaration made outside an element that holds inside it.
type Outer struct {
	Namespace
	Used bool // a name has asked for it since Forget
}

// Forget clears the marks that Outer reads.
func (s *Scanner) Forget() {
	for i := range s.scope.bound {
		s.scope.bound[i].used = false
	}
}

// Outer appends the declarations that hold for the current element and were made outside it, the innermost of each
// prefix only.
func (s *Scanner) Outer(to []Outer) []Outer {
	for i := len(s.scope.bound) - 1; i >= 0; i-- {
		b := &s.scope.bound[i]
		if b.depth < len(s.opens) && !has(to, b.Prefix) && !s.Own(b.Prefix) {
			to = append(to, Outer{Namespace: b.Namespace, Used: b.used})
		}
	}
	return to
}

// Own reports whether the current element itself declares a prefix, empty for the default.
func (s *Scanner) Own(prefix string) bool {
	for i := len(s.scope.bound) - 1; i >= 0 && s.scope.bound[i].depth == len(s.opens); i-- {
		if s.scope.bound[i].Prefix == prefix {
			return true
		}
	}
	return false
}

// Bound counts the declarations that hold for the current element, hidden ones included.
func (s *Scanner) Bound() int { return len(s.scope.bound) }

// Declare makes namespaces hold for the whole document, as if an element around it had declared them. It comes before
// the first token.
func (s *Scanner) Declare(list []Namespace) error {
	for _, n := range list {
		if err := Allowed(n); err != nil {
			return err
		}
		s.scope.bound = append(s.scope.bound, binding{Namespace: n})
	}
	return nil
}

func has(list []Outer, prefix string) bool {
	for i := range list {
		if list[i].Prefix == prefix {
			return true
		}
	}
	return false
}
