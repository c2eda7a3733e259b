package contract

import "fmt"

// unsupported says which version was found and what to do about it.
func unsupported(key string, version any, isText bool) *Finding {
	f := &Finding{Severity: SeverityError, Code: "unsupported-version", Pointer: "/" + key}
	f.Detail = fmt.Sprintf("Version %s of %s is not supported.", quoteValue(version), specName(key))
	switch {
	case !isText:
		f.Detail = fmt.Sprintf("The value of %s is %s, but it must be a text.", key, quoteValue(version))
		f.Remedy = "Write the whole version in quotes, such as \"3.1.0\"."
	case key == "swagger":
		f.Remedy = "Convert the document to OpenAPI 3.0 or later."
	case key == "asyncapi":
		f.Remedy = "Use AsyncAPI 2.6.0, 3.0.0 or 3.1.0; the converter of AsyncAPI brings an older document up to date."
	default:
		f.Remedy = "Use OpenAPI 3.0, 3.1 or 3.2, with its patch number, such as 3.1.1."
	}
	return f
}

func specName(key string) string {
	return map[string]string{"openapi": "OpenAPI", "asyncapi": "AsyncAPI", "swagger": "Swagger"}[key]
}
