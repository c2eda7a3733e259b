package xmlscan

import "bytes"

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
