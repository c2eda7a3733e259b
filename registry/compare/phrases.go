package compare

// phrase says in our own words what a rule of oasdiff found. In text, {0} and so on are the arguments of the rule; in why,
// {who} are those who are bound. An empty why leaves it to the general one.
type phrase struct{ text, why string }

// phrases are by the name of the rule without the direction it starts with.
func phrases() map[string]phrase {
	return map[string]phrase{
		"required-property-removed": {"The required property {0} was removed", "{who} that count on the property no longer find it."},
		"optional-property-removed": {"The optional property {0} was removed", "{who} that use the property no longer find it."},
		"property-removed":          {"The property {0} was removed", "{who} that still send it may be refused, or it is ignored."},
		"required-property-added":   {"The required property {0} was added", "{who} that do not know it can pass over it."},
		"optional-property-added":   {"The optional property {0} was added", "{who} that do not know it can pass over it."},

		"new-required-request-property":              {"The required property {0} was added", "{who} that do not send it are refused."},
		"new-required-request-property-with-default": {"The required property {0} was added, with a default", "{who} that do not send it are refused; a default does not make a required property optional."},
		"new-optional-request-property":              {"The optional property {0} was added", "{who} may leave it out."},

		"property-became-required":     {"The property {0} became required", ""},
		"property-became-optional":     {"The property {0} became optional", ""},
		"property-became-nullable":     {"The property {0} may now be null", ""},
		"property-became-not-nullable": {"The property {0} may no longer be null", ""},
		"body-became-nullable":         {"The body may now be null", ""},
		"body-became-not-nullable":     {"The body may no longer be null", ""},
		"property-deprecated":          {"The property {0} was deprecated", "It still works; {who} do well to stop using it."},
		"property-reactivated":         {"The property {0} is no longer deprecated", ""},

		"property-enum-value-added":        {"The value {0} was added to those of {1}", ""},
		"property-enum-value-removed":      {"The value {0} was removed from those of {1}", ""},
		"property-became-enum":             {"The property {0} was limited to a list of values", ""},
		"body-enum-value-removed":          {"The value {0} was removed from those of the body", ""},
		"mediatype-enum-value-removed":     {"The value {1} was removed from those of the body", ""},
		"property-type-changed":            {"The {1} of the property {0} changed from {2} to {3}", ""},
		"property-type-generalized":        {"The {1} of the property {0} was widened from {2} to {3}", ""},
		"property-type-specialized":        {"The {1} of the property {0} was narrowed from {2} to {3}", ""},
		"property-list-of-types-widened":   {"The types {1} were added to those of {0}", ""},
		"property-list-of-types-narrowed":  {"The types {1} were removed from those of {0}", ""},
		"body-list-of-types-widened":       {"The types {0} were added to those of the body", ""},
		"body-list-of-types-narrowed":      {"The types {0} were removed from those of the body", ""},
		"body-type-changed":                {"The {0} of the body changed from {1} to {2}", ""},
		"body-type-generalized":            {"The {0} of the body was widened from {1} to {2}", ""},
		"body-type-specialized":            {"The {0} of the body was narrowed from {1} to {2}", ""},
		"body-wrapped-in-one-of":           {"The body became one of several forms", "What was the form of the body now stands one level deeper in the contract; readers that expect it must choose."},
		"body-added-required":              {"A body became part of the request, and is required", "{who} that send no body are refused."},
		"body-added-optional":              {"A body became part of the request", "{who} may leave it out."},
		"body-became-required":             {"The body became required", "{who} that send no body are refused."},
		"body-became-optional":             {"The body became optional", ""},
		"success-status-removed":           {"The answer with status {0} was removed", "{who} that wait for this status do not get it any more."},
		"success-status-added":             {"An answer with status {0} was added", "{who} that treat every 2xx as success notice nothing."},
		"non-success-status-removed":       {"The answer with status {0} was removed", ""},
		"non-success-status-added":         {"An answer with status {0} was added", "{who} meet one more kind of failure, and must expect failures they do not know anyway."},
		"parameter-removed":                {"The {0} parameter {1} was removed", "{who} that still send it may be refused, or it is ignored."},
		"parameter-became-required":        {"The {0} parameter {1} became required", "{who} that do not send it are refused."},
		"parameter-became-optional":        {"The {0} parameter {1} became optional", ""},
		"parameter-enum-value-removed":     {"The value {0} of the {1} parameter {2} was removed", ""},
		"parameter-enum-value-added":       {"The value {0} was added to the {1} parameter {2}", ""},
		"parameter-became-enum":            {"The {0} parameter {1} was limited to a list of values", ""},
		"parameter-deprecated":             {"The {0} parameter {1} was deprecated", "It still works; {who} do well to stop using it."},
		"new-required-request-parameter":   {"The required {0} parameter {1} was added", "{who} that do not send it are refused."},
		"new-optional-request-parameter":   {"The optional {0} parameter {1} was added", "{who} may leave it out."},
		"new-request-path-parameter":       {"The path parameter {0} was added", "The address changed, so requests of {who} no longer arrive."},
		"header-property-became-enum":      {"The header {0} was limited to a list of values", ""},
		"header-added":                     {"The header {0} was added to the answer", ""},
		"header-became-optional":           {"The header {0} became optional", "{who} that count on the header may find it absent."},
		"required-response-header-removed": {"The header {0} was removed", "{who} that count on the header no longer find it."},
		"optional-response-header-removed": {"The optional header {0} was removed", ""},

		"endpoint-added":                       {"The operation was added", "Nothing that exists changes."},
		"api-path-removed-without-deprecation": {"The path was removed", "Requests of {who} no longer find anything there."},
		"api-removed-without-deprecation":      {"The operation was removed", "Requests of {who} no longer find anything there."},
		"api-path-removed-with-deprecation":    {"The path was removed, after it was deprecated", "{who} were warned, but those that still use it no longer find anything there."},
		"api-removed-with-deprecation":         {"The operation was removed, after it was deprecated", "{who} were warned, but those that still use it no longer find anything there."},
		"endpoint-deprecated":                  {"The operation was deprecated", "It still works; {who} do well to stop using it."},
		"endpoint-reactivated":                 {"The operation is no longer deprecated", ""},
		"api-operation-id-removed":             {"The operationId changed from {0} to {1}", "Requests stay the same, but names in generated code of {who} change."},
		"api-operation-id-added":               {"The operationId {0} was added", ""},
	}
}

// ownLevels are where we weigh a change other than oasdiff does, by the name of the rule.
func ownLevels() map[string]Level {
	return map[string]Level{
		// An optional property may be absent, yet who was promised it and used it loses it for good.
		"response-optional-property-removed": Breaking,
		// That it was announced does not make it work.
		"api-path-removed-with-deprecation": Breaking,
		"api-removed-with-deprecation":      Breaking,
		// Who reads with care passes over what it does not know.
		"response-additional-properties-allowed": Warning,
	}
}

// skipped are the rules that have a better one here, or that speak of the copy and not of the document.
func skipped(id string) bool {
	switch id {
	case "request-body-media-type-added", "request-body-media-type-removed",
		"response-media-type-added", "response-media-type-removed", "response-media-type-name-changed",
		"response-media-type-name-generalized", "response-media-type-name-specialized",
		"response-media-type-parameter-added", "response-media-type-parameter-removed", "response-media-type-parameter-changed",
		"api-version-not-bumped", "api-version-decreased", "api-major-version-not-bumped", "api-schema-removed":
		return true
	}
	return false
}
