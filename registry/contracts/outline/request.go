package outline

import (
	"cmp"
	"net/url"
	"strings"

	"schakel/templates/i18n"
)

// requests are samples of a whole request: for curl, and as it goes over the line, with each sample of its body.
func (b *builder) requests(op httpOperation, kind string, bodies []Sample) []Sample {
	var list []Sample
	if kind != KindOperation {
		for _, body := range bodies {
			body.Group = "request"
			list = append(list, body)
		}
		return list
	}
	r := b.request(op)
	if len(bodies) == 0 {
		return []Sample{
			{Title: "outline.sample-curl", Group: "request", Code: r.curl("", ""), Generated: true},
			{Title: "outline.sample-http", Group: "request", Code: r.http("", ""), Generated: true},
		}
	}
	content := b.doc.target(op.operation.get("requestBody")).get("content")
	media := ""
	if names := b.doc.names(content); len(names) > 0 {
		media = names[0]
	}
	list = append(list, Sample{Title: "outline.sample-curl", Group: "request", Code: r.curl(media, bodies[0].Code), Generated: true})
	for _, body := range bodies {
		body.Group = "request"
		list = append(list, body)
	}
	return append(list, Sample{Title: "outline.sample-http", Group: "request", Code: r.http(media, bodies[0].Code), Generated: true})
}

// httpRequest is a request as it could be.
type httpRequest struct {
	method, host, target string
	headers              [][2]string
}

func (b *builder) request(op httpOperation) httpRequest {
	r := httpRequest{method: op.method}
	base := b.server(op)
	path := op.path
	query := url.Values{}
	var order []string
	for _, at := range append(op.operation.get("parameters").items(), op.item.get("parameters").items()...) {
		p := b.doc.target(at)
		name, value := p.text("name"), b.parameterValue(p)
		switch {
		case p.text("in") == "path":
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(value))
		case !p.is("required"):
		case p.text("in") == "query" && !query.Has(name):
			query.Set(name, value)
			order = append(order, url.QueryEscape(name)+"="+url.QueryEscape(value))
		case p.text("in") == "header":
			r.headers = append(r.headers, [2]string{name, value})
		}
	}
	if secret := b.secret(op.operation); secret[0] != "" {
		if secret[0] == "?" {
			order = append(order, secret[1])
		} else {
			r.headers = append(r.headers, secret)
		}
	}
	if accept := b.accept(op.operation); accept != "" {
		r.headers = append(r.headers, [2]string{"Accept", accept})
	}
	if len(order) > 0 {
		path += "?" + strings.Join(order, "&")
	}
	r.host, r.target = base, path
	return r
}

// server gives the address of the first server, its variables filled in.
func (b *builder) server(op httpOperation) string {
	for _, servers := range []spot{op.operation.get("servers"), op.item.get("servers"), b.doc.root.get("servers")} {
		if list := servers.items(); len(list) > 0 {
			address := list[0].text("url")
			variables := list[0].get("variables")
			for _, name := range b.doc.names(variables)[:min(len(b.doc.names(variables)), 20)] {
				address = strings.ReplaceAll(address, "{"+name+"}", variables.get(name).text("default"))
			}
			address = strings.TrimSuffix(address, "/")
			if strings.HasPrefix(address, "http") {
				return address
			}
			return "https://example.org" + address
		}
	}
	return "https://example.org"
}

func (b *builder) parameterValue(p spot) string {
	if list := b.doc.examplesOf(p); len(list) > 0 {
		return cut(list[0].code, 200)
	}
	value, ok := b.made(p.get("schema"), written)
	said, isText := value.(string)
	switch {
	case isText && said != "text":
		return cut(said, 200)
	case !ok, isText, value == nil:
		return p.text("name")
	}
	return cut(b.doc.write(value, ""), 200)
}

// secret gives the header with which the first way to log in goes, or "?" and a part of the query.
func (b *builder) secret(operation spot) [2]string {
	requirements := operation.get("security")
	if !requirements.there() {
		requirements = b.doc.root.get("security")
	}
	if items := requirements.items(); len(items) > 0 { // the first way is enough
		for _, name := range b.doc.names(items[0]) {
			s := b.doc.target(b.doc.root.get("components", "securitySchemes", name))
			switch {
			case s.text("type") == "apiKey" && s.text("in") == "header":
				return [2]string{s.text("name"), "$KEY"}
			case s.text("type") == "apiKey" && s.text("in") == "query":
				return [2]string{"?", url.QueryEscape(s.text("name")) + "=$KEY"}
			case s.text("type") == "http" && strings.EqualFold(s.text("scheme"), "basic"):
				return [2]string{"Authorization", "Basic $CREDENTIALS"}
			case s.text("type") == "http", s.text("type") == "oauth2", s.text("type") == "openIdConnect":
				return [2]string{"Authorization", "Bearer $TOKEN"}
			}
		}
	}
	return [2]string{}
}

// accept names the media type of the first response that succeeds.
func (b *builder) accept(operation spot) string {
	responses := operation.get("responses")
	for _, status := range b.doc.names(responses) {
		if strings.HasPrefix(status, "2") {
			if names := b.doc.names(b.doc.target(responses.get(status)).get("content")); len(names) > 0 {
				return names[0]
			}
		}
	}
	return ""
}

// inQuotes writes an argument for a shell; a variable in it is replaced only in double quotes.
func inQuotes(s string) string {
	if strings.Contains(s, "$") && !strings.ContainsAny(s, "\"\\`") {
		return `"` + s + `"`
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func (r httpRequest) curl(media, body string) string {
	var b strings.Builder
	b.WriteString("curl")
	if r.method != "GET" {
		b.WriteString(" --request " + r.method)
	}
	b.WriteString(" " + inQuotes(r.host+r.target))
	for _, h := range r.headers {
		b.WriteString(" \\\n  --header " + inQuotes(h[0]+": "+h[1]))
	}
	if body != "" {
		b.WriteString(" \\\n  --header " + inQuotes("Content-Type: "+cmp.Or(media, "application/json")))
		b.WriteString(" \\\n  --data '" + strings.ReplaceAll(body, "'", `'\''`) + "'")
	}
	return b.String()
}

func (r httpRequest) http(media, body string) string {
	_, rest, _ := strings.Cut(r.host, "://")
	host, prefix, _ := strings.Cut(rest, "/")
	if prefix != "" {
		prefix = "/" + prefix
	}
	var b strings.Builder
	b.WriteString(r.method + " " + prefix + r.target + " HTTP/1.1\nHost: " + host)
	for _, h := range r.headers {
		b.WriteString("\n" + h[0] + ": " + h[1])
	}
	if body != "" {
		b.WriteString("\nContent-Type: " + cmp.Or(media, "application/json") + "\n\n" + body)
	}
	return b.String()
}

// Label names a sample, with the name that its author gave it.
func (s Sample) Label() i18n.Message {
	if s.Name == "" {
		return s.Title
	}
	return i18n.M("outline.sample-named", s.Title, s.Name)
}
