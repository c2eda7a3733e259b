package contract

import (
	"encoding/json"
	"math/big"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"
	"schakel/templates/i18n"
)

const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

// numberShapes are the numbers of the YAML 1.2 core schema.
var numberShapes = sync.OnceValue(func() (shapes struct{ integer, float *regexp.Regexp }) {
	shapes.integer = regexp.MustCompile(`^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$`)
	shapes.float = regexp.MustCompile(`^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$`)
	return shapes
})

// plainTag reports whether a node has the tag it would have by itself, long or short.
func plainTag(n *yaml.Node, tag string) bool {
	return n.Style&yaml.TaggedStyle == 0 || n.ShortTag() == tag
}

func foreignTag(n *yaml.Node) *problem {
	return at(&problem{
		code:   "yaml-tag",
		detail: i18n.M("findings.yaml-tag", shorten(n.ShortTag(), 60)),
		remedy: "findings.yaml-tag-remedy",
	}, n)
}

// scalar reads a scalar by the core schema (YAML 1.2, 10.3.2).
func scalar(n *yaml.Node) (any, *problem) {
	tag := ""
	if n.Style&yaml.TaggedStyle != 0 {
		tag = n.ShortTag()
	}
	if tag == "!!str" || tag == "!" || tag == "" && n.Style&quoted != 0 {
		return n.Value, nil
	}
	value, implied := core(n.Value)
	if number, ok := value.(json.Number); ok && !reasonable(string(number)) {
		return nil, at(badNumber(n.Value), n)
	}
	switch {
	case implied == "nan":
		return nil, at(&problem{
			code: "number-out-of-range", detail: i18n.M("findings.yaml-number", n.Value),
			remedy: "findings.yaml-number-remedy",
		}, n)
	case tag == "" || tag == implied || tag == "!!float" && implied == "!!int":
		return value, nil
	}
	return nil, foreignTag(n)
}

// core gives the value of plain text and its tag; "nan" for what JSON cannot say.
func core(text string) (value any, tag string) {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return nil, "!!null"
	case "true", "True", "TRUE":
		return true, "!!bool"
	case "false", "False", "FALSE":
		return false, "!!bool"
	}
	if strings.IndexByte("+-.0123456789", text[0]) < 0 {
		return text, "!!str"
	}
	switch strings.ToLower(strings.TrimLeft(text, "+-")) {
	case ".inf", ".nan":
		return nil, "nan"
	}
	shapes := numberShapes()
	if shapes.integer.MatchString(text) {
		return json.Number(integer(text)), "!!int"
	}
	if shapes.float.MatchString(text) {
		return json.Number(float(text)), "!!float"
	}
	return text, "!!str"
}

// integer writes an integer of YAML as JSON does. Very long ones are left, to be refused by their length.
func integer(text string) string {
	base := 10
	if len(text) > 400 {
		return text
	}
	digits := strings.TrimPrefix(text, "+")
	switch {
	case strings.HasPrefix(text, "0o"):
		base, digits = 8, text[2:]
	case strings.HasPrefix(text, "0x"):
		base, digits = 16, text[2:]
	}
	n, ok := new(big.Int).SetString(digits, base)
	if !ok {
		return text
	}
	return n.String()
}

// float writes a float of YAML as JSON does: digits on both sides of the point, no plus sign, no leading zeros.
func float(text string) string {
	mantissa, exponent := text, ""
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponent = text[:i], text[i:]
	}
	sign := ""
	if mantissa[0] == '-' || mantissa[0] == '+' {
		sign, mantissa = strings.TrimPrefix(mantissa[:1], "+"), mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	if fraction == "" && exponent == "" {
		fraction = "0"
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	return sign + whole + fraction + exponent
}
