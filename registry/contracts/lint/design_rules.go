package lint

import "schakel/registry/contracts/contract"

// designRules are the NL API Design Rules 2.2 as far as a document shows whether they are kept.
func designRules() []Rule {
	const e, w, i = contract.SeverityError, contract.SeverityWarning, contract.SeverityInfo
	rules := []Rule{
		{Code: "doc-openapi", ID: "/core/doc-openapi", Severity: e, Title: "Follow OpenAPI 3 with a whole version number", Remedy: "Write the version as 3.2.0, without a suffix."},
		{Code: "doc-openapi-contact", ID: "/core/doc-openapi-contact", Severity: e, Title: "Say whom to ask, with name, e-mail address and URL", Remedy: "Give info.contact a name, an email and a url."},
		{Code: "publish-openapi", ID: "/core/publish-openapi", Severity: e, Title: "Say where the API is", Remedy: "Add servers with at least one url."},
		{Code: "semver", ID: "/core/semver", Severity: e, Title: "Number versions as semantic versioning does", Remedy: "Write info.version as major.minor.patch, such as 1.4.0."},
		{Code: "uri-version", ID: "/core/uri-version", Severity: e, Title: "Put the major version in the address", Remedy: "Let the url of the server hold the major version, such as https://api.example.nl/v1."},
		{Code: "version-header", ID: "/core/version-header", Severity: e, Title: "Tell the whole version in the header API-Version", Remedy: "Add the header API-Version to the answer."},
		{Code: "transport-tls", ID: "/core/transport/tls", Severity: w, Title: "Use HTTPS", Remedy: "Let the url of the server start with https."},
		{Code: "no-trailing-slash", ID: "/core/no-trailing-slash", Severity: e, Title: "End no path with a slash", Remedy: "Leave the last slash off."},
		{Code: "path-segments-kebab-case", ID: "/core/path-segments-kebab-case", Severity: e, Title: "Write paths in kebab-case", Remedy: "Use lower-case letters, digits and hyphens in the parts of the path."},
		{Code: "query-keys-camel-case", ID: "/core/query-keys-camel-case", Severity: e, Title: "Write query parameters in lower camelCase", Remedy: "Name it as startDate: a lower-case letter first, no hyphens or underscores."},
		{Code: "http-methods", ID: "/core/http-methods", Severity: e, Title: "Use the standard HTTP methods", Remedy: "Use get, post, put, patch or delete."},
		{Code: "problem-details", ID: "/core/error-handling/problem-details", Severity: e, Title: "Answer errors as application/problem+json", Remedy: "Give the answer the media type application/problem+json (RFC 9457)."},
		{Code: "problem-members", ID: "/core/error-handling/problem-details", Severity: e, Title: "Let a problem have status, title and detail", Remedy: "Add the properties status, title and detail to the schema of the problem."},
		{Code: "invalid-input", ID: "/core/error-handling/invalid-input", Severity: e, Title: "Answer invalid input with 400", Remedy: "Describe the answer 400 of the operation."},
		{Code: "date-time-timezone", ID: "/core/date-time/timezone", Severity: e, Title: "Give instants a time zone", Remedy: "Use the format date-time, which has one."},
		{Code: "time-format", ID: "/core/date-time/format", Severity: e, Title: "Write times of day without a time zone", Remedy: "Use the format time-local."},
		{Code: "date-format", ID: "/core/date-time/date-omit-time-portion", Severity: e, Title: "Say of a date that it is one", Remedy: "Set format to date."},
		{Code: "date-omit-time-portion", ID: "/core/date-time/date-omit-time-portion", Severity: e, Title: "Leave the time off dates", Remedy: "Set format to date, or call it what it is, such as startDateTime."},
		{Code: "schema-camel-case", ID: "schema-camel-case", Severity: w, Title: "Name schemas in UpperCamelCase", Remedy: "Name it as StudentEnrolment."},
		{Code: "property-camel-case", ID: "property-casing", Severity: i, Title: "Name properties in lower camelCase", Remedy: "Name it as startDate."},
	}
	for n := range rules {
		rules[n].Set, rules[n].Link = SetDesign, designLink(rules[n].ID)
	}
	return rules
}

// designLink gives the address that explains a rule: in the standard, or, for two that only the linter has, the linter's.
func designLink(id string) string {
	const standard, linter = "https://gitdocumentatie.logius.nl/publicatie/api/adr/2.2.0/#", "https://developer.overheid.nl/kennisbank/apis/api-design-rules/api-design-rules-linter"
	if id[0] == '/' {
		return standard + id
	}
	return linter
}
