package site

import "slices"

// problemText explains one code of a Problem to whoever meets it.
type problemText struct {
	Code   string
	Status int
	Means  string
	Remedy string
}

// ProblemTexts are the problems that the APIs answer. The type of a problem is the
// address of the page that shows its text (RFC 9457, IDEM-I06).
func ProblemTexts() []problemText {
	return slices.Concat(requestProblems(), keyProblems(), accessProblems(), stateProblems(), mutationProblems())
}

func keyProblems() []problemText {
	return []problemText{
		{"key-missing", 400, "The request must carry an Idempotency-Key and has none.", "Send a new random UUID (version 4) in double quotes, and the same one whenever you repeat this request."},
		{"key-invalid", 400, "The Idempotency-Key is not one quoted UUID of version 4, was sent twice or has parameters.", `Write it like "8e03978e-40d5-43e8-bc93-6894a57f9324", with the quotes.`},
		{"key-in-use", 409, "The first request with this Idempotency-Key is still being handled.", "Wait as long as Retry-After says and repeat the request with the same key."},
		{"key-reused", 422, "The Idempotency-Key was used before for a request with other content.", "Send this request under a new key. A key expires after its lifetime, which the description of the API tells."},
	}
}

func requestProblems() []problemText {
	return []problemText{
		{"body-broken", 400, "The body broke off before its end.", "Send the request again, with the same Idempotency-Key if it had one."},
		{"json-syntax", 400, "The body is not one JSON object in UTF-8.", "Mend the JSON and send it again."},
		{"not-json", 415, "The body is not sent as JSON.", "Set Content-Type to application/json."},
		{"invalid", 400, "A member or parameter of the request is wrong; errors says which.", "Mend what errors names and send the request again, under a new Idempotency-Key."},
		{"event-invalid", 400, "An event breaks a rule of CloudEvents or of the profile. Nothing of the request was stored.", "Mend what errors names and send it again, under a new Idempotency-Key."},
		{"payload-refused", 400, "The data of an event does not fit its contract. Nothing of the request was stored.", "Mend what errors names, by the contract version that the answer names, and send it again, under a new Idempotency-Key."},
		{"unknown-type", 400, "No published contract defines this event type.", "Look in the catalogue of event types, or have the contract published first."},
		{"not-a-cloudevent", 415, "The request is in no format of CloudEvents that is taken here.", "Send application/cloudevents+json, a batch where the chain takes them, or binary mode with ce- headers."},
		{"not-a-document", 415, "The body is not a contract document.", "Send the document as application/json or application/yaml, or in a form with the part document."},
		{"document-invalid", 400, "The document has errors, so it cannot be registered.", "Mend what errors names; a validation shows all of them without keeping anything."},
		{"too-large", 413, "The request is larger than is taken here.", "Send less at a time. Put large data elsewhere and refer to it with dataref."},
		{"method-not-allowed", 405, "The address does not take this method.", "Use one of the methods in the Allow header."},
	}
}

func accessProblems() []problemText {
	return []problemText{
		{"token-missing", 401, "The request has no access token.", "Get a token at /oauth/token and send it as Authorization: Bearer."},
		{"token-invalid", 401, "The access token was not accepted: it has expired, or is not one of ours.", "Get a new token and repeat the request, with the same Idempotency-Key if it had one."},
		{"token-in-query", 400, "The access token stands in the address, where it would end up in logs.", "Send it in the Authorization header alone, and replace the token."},
		{"insufficient-scope", 403, "The token has not the scope that this needs.", "Ask the administrator for the scope that the answer names, and get a new token."},
		{"not-granted", 403, "The client may not send events of this type or source.", "Ask the administrator to grant them to the client."},
		{"forbidden", 403, "The client may not do this.", "Ask the administrator, or use another client."},
		{"too-many-requests", 429, "The client sends faster than it may.", "Wait as long as Retry-After says, then go on more slowly."},
		{"too-many-jobs", 409, "Twenty jobs of your organisation run already.", "Wait until one is done, or stop one with DELETE /events/v1/resends/{id}."},
		{"too-many-counts", 429, "The people or clients of this partner have other counts of what would be sent again under way.", "Wait as long as Retry-After says; count one after the other."},
		{"too-many-downloads", 429, "The partner waits for as many downloads as it may have asked for at once.", "Fetch those that are ready, and ask again after Retry-After."},
		{"too-large-downloads", 429, "As many bytes are kept as may be of the downloads that the partner asked for, and all of them were made within the hour.", "Fetch them; ask again after Retry-After, when the oldest makes room, or ask for less with object types and a geofilter."},
		{"too-many-uploads", 429, "The clients of this partner have other documents or large events under way.", "Send one after the other."},
	}
}

func mutationProblems() []problemText {
	return []problemText{
		{"not-mutations", 415, "The body is in none of the forms in which mutations are published.", "Send application/xml, application/zip, application/json or application/x-ndjson."},
		{"mutations-unreadable", 400, "The body is not sound XML, JSON or zip, or not the mutation format; errors says where. The groups before that are in.", "Mend what errors names and send the rest under a new Idempotency-Key."},
		{"mutations-refused", 422, "A group breaks a rule, such as a WAS that names no live version; errors says where. The groups before that are in.", "Mend what errors names and send the rest under a new Idempotency-Key."},
		{"dataset-not-empty", 409, "An initial load was sent to a dataset that has objects.", "Send what changed as a delta, or replace the history with a reason; then every copy begins anew."},
		{"publication-cancelled", 409, "An administrator stopped this publication. Whole groups of it are in.", "Ask the administrator why, and send the rest under a new Idempotency-Key."},
		{"delta-unknown", 404, "The dataset never had this delta.", "List the deltas, or begin anew from the latest snapshot."},
		{"no-snapshot", 404, "The dataset has no such snapshot, or none yet.", "Ask for the latest snapshot; when there is none, ask the administrator to make one."},
		{"delta-expired", 410, "The delta was kept for 31 days after the end of its window, and is gone.", "Begin anew: fetch the latest snapshot into an empty copy, and go on after the delta that it includes."},
		{"lineage-changed", 410, "The delta is of a history that was replaced, or of another area.", "Begin anew: fetch the latest snapshot into an empty copy, and go on after the delta that it includes."},
		{"download-gone", 410, "The download was kept for 7 days after it was ready, or until it made room for a newer one, and is gone.", "Ask for it again, and fetch it when it is ready."},
		{"area-unreadable", 409, "The area of the subscription cannot be read, so it is not known what the follower gets.", "Set the area again with PUT /mutations/v1/subscriptions/{id}/area, or ask the administrator."},
		{"stopping", 503, "The program is being stopped. Whole groups of the request are in.", "Send the whole request again under the same Idempotency-Key: it goes on behind what is in."},
		{"download-failed", 500, "The file could not be made.", "Ask for it again, and ask the administrator when that fails too."},
		{"not-ready", 503, "The file is being made.", "Ask again after Retry-After."},
	}
}

func stateProblems() []problemText {
	return []problemText{
		{"object-gone", 410, "The data was kept as long as its event, and is removed.", "Ask the publisher of the event to send it again, if you still need it."},
		{"range-refused", 416, "The data has no such range.", "Read in Content-Range how long it is, and ask for a part of that."},
		{"not-found", 404, "There is nothing at this address, or it is not yours to see.", "Look at the address and the id."},
		{"conflict", 409, "The state that it is in does not allow this, or it changed meanwhile.", "Look at it again, and decide anew."},
		{"version-withdrawn", 410, "The version of the contract was published, and is withdrawn for good.", "Use another version; the list of versions and the feed of the contract tell which there are."},
		{"digest-missing", 428, "The request does not name the bytes to publish.", "Send If-Match with one strong tag: the digest of the draft that you reviewed in double quotes, as in the ETag of its /original."},
		{"draft-changed", 412, "The draft holds other bytes than the request names, so it was not published.", "Review the draft as it is now, and publish that with its digest under a new Idempotency-Key."},
		{"document-incomplete", 409, "The version refers to what was not uploaded, so it cannot be published.", "Upload it again as a zip with all its files, then publish it."},
		{"breaking-change", 409, "The version breaks what an earlier one promised, and its number does not say so.", "Give it the number that the answer suggests, or send a reason."},
		{"sight-lost", 409, "Someone who sees the contract now would not see it any more; errors says who.", "Tell them, and send the request again with acceptLoss."},
		{"not-resendable", 409, "The delivery is on its way, was discarded, or its subscription is not approved.", "Look at the delivery and its subscription."},
		{"event-expired", 409, "The event has expired, by its attribute expirytime, so it is not sent any more.", "If it is still of use, have its producer publish it as a new event."},
		{"not-a-pull-subscription", 409, "The endpoint of the subscription is not of kind pull.", "Make an endpoint of kind pull and a subscription for it."},
		{"subscription-stopped", 409, "The subscription is not approved, so nothing is given out.", "Look at the status of the subscription and its reason."},
		{"busy", 503, "More comes in than can be stored now.", "Wait as long as Retry-After says and repeat the request with the same Idempotency-Key."},
		{"store-unavailable", 503, "The events could not be stored.", "Repeat the request later with the same Idempotency-Key."},
		{"unavailable", 503, "A part that this needs does not answer now.", "Repeat the request later with the same Idempotency-Key."},
		{"timeout", 503, "The request took too long. It may or may not have been done.", "Repeat it with the same Idempotency-Key, which keeps it from being done twice."},
		{"internal", 500, "Something went wrong on our side.", "Repeat the request later; give the instance of the answer to the administrator when it stays."},
	}
}
