package contract

import (
	"bytes"
	"errors"
	"strconv"

	"go.yaml.in/yaml/v4"
	"schakel/templates/i18n"
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
	return tooMany("document-too-many-aliases", "findings.too-many-aliases", limit)
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
		detail: i18n.M("findings.yaml-syntax", shorten(err.Error(), 200)),
		remedy: "findings.yaml-syntax-remedy",
	}
	var at *yaml.LoadError
	if errors.As(err, &at) {
		p.line, p.column = at.Mark.Line, at.Mark.Column
		p.detail = i18n.M("findings.yaml-syntax", shorten(at.Message, 200))
	}
	return p
}

// built is a value with the size of its tree, all aliases written out: its nodes, its height, and its longest path in
// bytes of member names.
type built struct {
	value               any
	nodes, height, path int
}

// add puts the size of a member or item into that of what holds it.
func (m *built) add(part built, key string) {
	m.nodes += part.nodes
	m.height = max(m.height, part.height+1)
	m.path = max(m.path, part.path+len(key))
}

// yamlBuilder turns nodes into values. What an alias repeats is built once and shared, and counted each time.
type yamlBuilder struct {
	limits  Limits
	aliases int
	nodes   int
	path    int                   // bytes of the names on the way to here
	shared  map[*yaml.Node]*built // nil while being built
}

func (b *yamlBuilder) build(n *yaml.Node, depth int) (built, *problem) {
	if b.nodes++; b.nodes > b.limits.Nodes {
		return built{}, at(tooManyNodes(b.limits.Nodes), n)
	}
	if depth > b.limits.Depth && n.Kind != yaml.ScalarNode {
		return built{}, at(tooDeep(b.limits.Depth), n)
	}
	if n.Kind == yaml.AliasNode {
		return b.alias(n, depth)
	}
	if n.Anchor != "" {
		b.shared[n] = nil
	}
	made, p := b.fresh(n, depth)
	if n.Anchor != "" && p == nil {
		b.shared[n] = &made
	}
	return made, p
}

func (b *yamlBuilder) fresh(n *yaml.Node, depth int) (built, *problem) {
	switch n.Kind {
	case yaml.MappingNode:
		return b.mapping(n, depth)
	case yaml.SequenceNode:
		return b.sequence(n, depth)
	case yaml.ScalarNode:
		value, p := scalar(n)
		return built{value: value, nodes: 1}, p
	}
	return built{}, at(yamlSyntax(errors.New("unknown kind of node")), n)
}

func (b *yamlBuilder) alias(n *yaml.Node, depth int) (built, *problem) {
	if b.aliases++; b.aliases > b.limits.Aliases {
		return built{}, at(tooManyAliases(b.limits.Aliases), n)
	}
	if n.Alias.Kind == yaml.ScalarNode {
		return b.fresh(n.Alias, depth)
	}
	made, known := b.shared[n.Alias]
	if !known || made == nil {
		return built{}, at(&problem{
			code:   "alias-cycle",
			detail: i18n.M("findings.alias-cycle", shorten(n.Value, 60)),
			remedy: "findings.alias-cycle-remedy",
		}, n)
	}
	if b.nodes += made.nodes; b.nodes > b.limits.Nodes {
		return built{}, at(tooManyNodes(b.limits.Nodes), n)
	}
	if depth+made.height > b.limits.Depth {
		return built{}, at(tooDeep(b.limits.Depth), n)
	}
	if b.path+made.path > maxPath {
		return built{}, at(pathTooLong(), n)
	}
	return *made, nil
}

func (b *yamlBuilder) mapping(n *yaml.Node, depth int) (built, *problem) {
	if !plainTag(n, "!!map") {
		return built{}, foreignTag(n)
	}
	object := make(map[string]any, len(n.Content)/2)
	made := built{value: object, nodes: 1}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, p := b.key(n.Content[i])
		if p != nil {
			return built{}, p
		}
		if _, twice := object[key]; twice {
			return built{}, at(duplicateKey(key), n.Content[i]).within(key)
		}
		if b.path += len(key); b.path > maxPath {
			return built{}, at(pathTooLong(), n.Content[i])
		}
		part, p := b.build(n.Content[i+1], depth+1)
		if p != nil {
			return built{}, p.within(key)
		}
		b.path -= len(key)
		object[key] = part.value
		made.nodes++
		made.add(part, key)
	}
	return made, nil
}

func (b *yamlBuilder) sequence(n *yaml.Node, depth int) (built, *problem) {
	if !plainTag(n, "!!seq") {
		return built{}, foreignTag(n)
	}
	list := make([]any, 0, len(n.Content))
	made := built{nodes: 1}
	for i, item := range n.Content {
		part, p := b.build(item, depth+1)
		if p != nil {
			return built{}, p.within(strconv.Itoa(i))
		}
		list = append(list, part.value)
		made.add(part, "")
	}
	made.value = list
	return made, nil
}

// key gives a member name as text: 200: and "200": are the same name, as JSON knows no other.
func (b *yamlBuilder) key(n *yaml.Node) (string, *problem) {
	if b.nodes++; b.nodes > b.limits.Nodes {
		return "", at(tooManyNodes(b.limits.Nodes), n)
	}
	for n.Kind == yaml.AliasNode && n.Alias != nil && n.Alias.Kind == yaml.ScalarNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		return "", at(&problem{
			code: "yaml-key", detail: "findings.yaml-key",
			remedy: "findings.yaml-key-remedy",
		}, n)
	}
	if n.Style&quoted == 0 && n.Value == "<<" {
		return "", at(&problem{
			code: "yaml-merge-key", detail: "findings.yaml-merge-key",
			remedy: "findings.yaml-merge-key-remedy",
		}, n)
	}
	if _, p := scalar(n); p != nil {
		return "", p
	}
	return n.Value, nil
}

func at(p *problem, n *yaml.Node) *problem {
	p.line, p.column = n.Line, n.Column
	return p
}
