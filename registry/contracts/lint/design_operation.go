package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

func itoa(i int) string { return strconv.Itoa(i) }

// operation holds one operation against the rules about methods, parameters and answers. Webhooks and callbacks are
// operations of another's API, so that these rules are not about them.
func (c *checker) operation(o operation) {
	if o.webhook {
		return
	}
	c.holds("http-methods", !o.custom && o.method != "query", fixed(o.at), fmt.Sprintf("%s is not a method that every program knows.", short(strings.ToUpper(o.method))))
	for _, p := range c.parameters(o) {
		c.queryKey(p.object, p.at)
	}
	responses := child(o.object, "responses")
	for _, status := range names(responses) {
		response, at := c.object(responses[status], below(o.at, "responses", status))
		switch {
		case response == nil || !isStatus(status):
		case status[0] == '2' || status[0] == '3':
			c.versionHeader(o, status, response, at)
		case status[0] == '4' || status[0] == '5':
			c.problem(o, status, response, at)
		}
	}
	c.invalidInput(o, responses)
}

// isStatus reports whether a key is a status or a range of them, not default or an extension.
func isStatus(status string) bool {
	if len(status) != 3 || status[0] < '1' || status[0] > '5' {
		return false
	}
	rest := status[1:]
	return rest == "XX" || strings.Trim(rest, "0123456789") == ""
}

func (c *checker) versionHeader(o operation, status string, response map[string]any, at string) {
	c.applies("version-header")
	headers, ok := response["headers"].(map[string]any)
	detail := fmt.Sprintf("The answer %s of %s has no header API-Version.", status, o.title())
	if !ok {
		c.fails("version-header", at, detail)
		return
	}
	if !slices.ContainsFunc(names(headers), func(n string) bool { return strings.EqualFold(n, "API-Version") }) {
		c.fails("version-header", below(at, "headers"), detail)
	}
}

// problem checks the response for an error against RFC 9457.
func (c *checker) problem(o operation, status string, response map[string]any, at string) {
	content, ok := response["content"].(map[string]any)
	if !ok {
		return
	}
	at = below(at, "content")
	isProblem := false
	for _, media := range names(content) {
		kind, _, _ := strings.Cut(strings.ToLower(media), ";")
		if kind = strings.TrimSpace(kind); kind != "application/problem+json" && kind != "application/problem+xml" {
			continue
		}
		isProblem = true
		object, where := c.object(content[media], below(at, media))
		schema, where := c.object(object["schema"], below(where, "schema"))
		c.problemMembers(schema, where)
	}
	c.holds("problem-details", isProblem, fixed(at), fmt.Sprintf("The answer %s of %s is not application/problem+json.", status, o.title()))
}

func (c *checker) problemMembers(schema map[string]any, at string) {
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return
	}
	var missing []string
	for _, name := range []string{"status", "title", "detail"} {
		if _, ok := properties[name]; !ok {
			missing = append(missing, name)
		}
	}
	c.holds("problem-members", len(missing) == 0, fixed(below(at, "properties")), "The problem lacks "+strings.Join(missing, ", ")+".")
}

// invalidInput wants a 400 of what takes input.
func (c *checker) invalidInput(o operation, responses map[string]any) {
	switch o.method {
	case "get", "delete":
		if len(items(o.object, "parameters")) == 0 {
			return
		}
	case "put", "post", "patch":
	default:
		return
	}
	if responses == nil {
		return
	}
	_, exact := responses["400"]
	_, ranged := responses["4XX"]
	c.holds("invalid-input", exact || ranged, fixed(below(o.at, "responses")), o.title()+" takes input and does not describe the answer 400.")
}
