package contract

import (
	"bytes"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v4"
)

// readYAML decodes one YAML 1.2 document into the types that Document.Root names, by the core schema: a time stays
// text, a member name that is a number becomes text. It gives the parse tree too, for positions. Duplicate names, merge
// keys, foreign tags, not-a-number and aliases that refer to themselves are refused.
func readYAML(content []byte, limits Limits) (root any, tree *yaml.Node, p *problem) {
	if p := estimateYAML(content, limits); p != nil {
		return nil, nil, p
	}
	tree, p = loadYAML(content, limits)
	if p != nil {
		return nil, nil, p
	}
	b := &yamlBuilder{limits: limits, shared: map[*yaml.Node]*built{}}
	whole, p := b.build(tree, 1)
	return whole.value, tree, p
}

// estimateYAML refuses a document that must have too many nodes before memory is spent on them. Nearly each line, comma,
// colon and bracket makes a node, and a contract within the limits has far fewer of them, those inside text included. The
// library takes time with each anchor and alias, so these are counted too.
func estimateYAML(content []byte, limits Limits) *problem {
	marks, anchors := 0, 0
	before, after := byte('\n'), content
	for _, c := range content {
		after = after[1:]
		switch {
		case c == '\n', c == ',', c == '[', c == '{', c == ' ' && before == ':':
			marks++
		case (c == '&' || c == '*') && startsName(before, after):
			anchors++
		}
		before = c
	}
	if marks > limits.Nodes {
		return tooManyNodes(limits.Nodes)
	}
	if anchors > 2*limits.Aliases {
		return tooManyAliases(limits.Aliases)
	}
	return nil
}

// startsName reports whether an anchor or alias can stand between these.
func startsName(before byte, after []byte) bool {
	return bytes.IndexByte([]byte(" \t\n,[{"), before) >= 0 && len(after) > 0 && after[0] > ' ' && after[0] != '*'
}

func tooManyAliases(limit int) *problem {
	return tooMany("document-too-many-aliases", limit, "YAML anchors and aliases")
}

func loadYAML(content []byte, limits Limits) (root *yaml.Node, p *problem) {
	defer func() {
		// The library reports by error; should it ever panic on a stranger's document, that document is at fault.
		if r := recover(); r != nil {
			root, p = nil, yamlSyntax(errors.New("the document cannot be read"))
		}
	}()
	var document yaml.Node
	guard := &yamlGuard{limit: limits.Depth}
	err := yaml.Load(content, &document, yaml.WithPlugin(guard))
	if err != nil {
		p := yamlSyntax(err)
		if guard.exceeded {
			deep := tooDeep(limits.Depth)
			p.code, p.detail, p.remedy = deep.code, deep.detail, deep.remedy
		}
		return nil, p
	}
	root = &document
	for root.Kind == yaml.DocumentNode && len(root.Content) == 1 {
		root = root.Content[0]
	}
	return root, nil
}

// yamlGuard stops the parser at the depth limit, long before its own.
type yamlGuard struct {
	limit    int
	exceeded bool
}

// CheckDepth implements yaml.LoaderLimitsPlugin.
func (g *yamlGuard) CheckDepth(depth int, _ *yaml.DepthContext) error {
	if depth <= g.limit {
		return nil
	}
	g.exceeded = true
	return errors.New("too deep")
}

// CheckAlias implements yaml.LoaderLimitsPlugin; aliases are counted by yamlBuilder.
func (g *yamlGuard) CheckAlias(int, int) error { return nil }

func yamlSyntax(err error) *problem {
	p := &problem{
		code:   "yaml-syntax",
		detail: fmt.Sprintf("The YAML cannot be read: %s.", shorten(err.Error(), 200)),
		remedy: "Look at the indentation, quotes and brackets at and just before this place; a document must hold one YAML document.",
	}
	var at *yaml.LoadError
	if errors.As(err, &at) {
		p.line, p.column = at.Mark.Line, at.Mark.Column
		p.detail = fmt.Sprintf("The YAML cannot be read: %s.", shorten(at.Message, 200))
	}
	return p
}
