package lint

import "schakel/registry/contracts/contract"

// The places where the rules on events are explained.
const (
	profileLink = "https://www.edustandaard.nl/"
	eventsLink  = "https://gitdocumentatie.logius.nl/publicatie/notificatieservices/CloudEvents-NL/"
)

// webhookRules lists the rules for OpenAPI documents of receivers of CloudEvents (EDU-21, EDU-23).
func webhookRules() []Rule {
	const e, w = contract.SeverityError, contract.SeverityWarning
	rules := []Rule{
		{Code: "webhook-method", ID: "CE-60", Severity: e, Title: "Take events by POST", Remedy: "Describe the operation under post."},
		{Code: "webhook-media-type", ID: "EDU-15", Severity: e, Title: "Take single events as application/cloudevents+json", Remedy: "Add the media type application/cloudevents+json to the content of the request."},
		{Code: "webhook-idempotency-key", ID: "IDEM-02", Severity: e, Title: "Describe the header Idempotency-Key as required", Remedy: "Add a parameter Idempotency-Key with in: header and required: true."},
		{Code: "webhook-accepted", ID: "CE-62", Severity: e, Title: "Answer 202 to what is taken in", Remedy: "Describe the answer 202."},
		{Code: "webhook-answers", ID: "CE-67", Severity: w, Title: "Describe the answers 400, 409, 422 and 429", Remedy: "Describe each of them, as application/problem+json."},
		{Code: "webhook-retry-after", ID: "CE-65", Severity: w, Title: "Tell with 429 when to come back", Remedy: "Add the header Retry-After to the answer 429."},
		{Code: "webhook-security", ID: "EDU-04", Severity: e, Title: "Let senders prove who they are by OAuth 2 client credentials", Remedy: "Add a security scheme of type oauth2 with the flow clientCredentials, and ask for it in security."},
	}
	for n := range rules {
		rules[n].Set, rules[n].Link = SetEvents, profileLink
	}
	return rules
}
