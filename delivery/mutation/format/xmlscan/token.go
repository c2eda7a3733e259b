package xmlscan

// Kind tells tokens apart.
type Kind uint8

// The kinds of tokens. An element without content gives a Start and an End.
const (
	Start Kind = iota + 1
	End
	Text
	CData
	Comment
	Instruction
)

// Attr is an attribute with its value as it stood between the quotes. Declarations of namespaces are among them.
type Attr struct {
	Name  []byte
	Value []byte
}

// Token is a piece of the document. Its bytes hold until the next token is asked for.
type Token struct {
	Kind         Kind
	Name         []byte // of Start and End: the qualified name as written
	Attrs        []Attr // of Start
	Empty        bool   // of Start and End: the element was written <a/>
	Text         []byte // of Text, CData: the raw content
	Line, Column int    // where it starts, from 1; the column counts bytes
	Offset       int64  // where it starts, from 0
}

// Defaults of Limits that a writer stays within.
const (
	MostAttributes = 200
	MostNamespaces = 500
)

// Limits bounds what a document may ask of the reader. A zero field takes its default.
type Limits struct {
	Depth      int // elements in elements; default 100
	Token      int // bytes of one tag, text or comment; default 16 MiB
	Attributes int // of one element; default 200
	Namespaces int // declarations in scope at once; default 500
}

func (l Limits) filled() Limits {
	or := func(n *int, value int) {
		if *n <= 0 {
			*n = value
		}
	}
	or(&l.Depth, 100)
	or(&l.Token, 16<<20)
	or(&l.Attributes, MostAttributes)
	or(&l.Namespaces, MostNamespaces)
	return l
}
