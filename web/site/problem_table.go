package site

import "slices"

// problemText is one code of a Problem. Its texts are the families site.problem-means and site.problem-remedy of the catalogues.
type problemText struct {
	Code   string
	Status int
}

// ProblemTexts are the problems that the APIs answer. The type of a problem is the
// address of the page that shows its text (RFC 9457, IDEM-I06).
func ProblemTexts() []problemText {
	return slices.Concat(requestProblems(), keyProblems(), accessProblems(), stateProblems(), mutationProblems())
}

func keyProblems() []problemText {
	return []problemText{
		{"key-missing", 400},
		{"key-invalid", 400},
		{"key-in-use", 409},
		{"key-reused", 422},
	}
}

func requestProblems() []problemText {
	return []problemText{
		{"body-broken", 400},
		{"json-syntax", 400},
		{"not-json", 415},
		{"invalid", 400},
		{"event-invalid", 400},
		{"payload-refused", 400},
		{"unknown-type", 400},
		{"not-a-cloudevent", 415},
		{"not-a-document", 415},
		{"document-invalid", 400},
		{"too-large", 413},
		{"method-not-allowed", 405},
	}
}

func accessProblems() []problemText {
	return []problemText{
		{"token-missing", 401},
		{"token-invalid", 401},
		{"token-issuer", 401},
		{"token-audience", 401},
		{"token-expired", 401},
		{"token-unverified", 401},
		{"token-client", 401},
		{"token-inactive", 401},
		{"token-proof", 401},
		{"token-proof-nonce", 401},
		{"token-issuer-unavailable", 503},
		{"token-in-query", 400},
		{"mandate-unknown", 503},
		{"certificate-missing", 401},
		{"certificate-refused", 401},
		{"certificate-unreadable", 400},
		{"certificate-unchecked", 503},
		{"certificate-mismatch", 403},
		{"insufficient-scope", 403},
		{"not-granted", 403},
		{"no-party", 422},
		{"forbidden", 403},
		{"second-person", 403},
		{"portal-only", 403},
		{"too-many-requests", 429},
		{"too-many-jobs", 409},
		{"check-runs", 409},
		{"not-checkable", 409},
		{"too-many-counts", 429},
		{"too-many-downloads", 429},
		{"too-large-downloads", 429},
		{"too-many-uploads", 429},
	}
}

func mutationProblems() []problemText {
	return []problemText{
		{"not-mutations", 415},
		{"mutations-unreadable", 400},
		{"mutations-refused", 422},
		{"dataset-not-empty", 409},
		{"publication-cancelled", 409},
		{"delta-unknown", 404},
		{"no-snapshot", 404},
		{"delta-expired", 410},
		{"lineage-changed", 410},
		{"download-gone", 410},
		{"area-unreadable", 409},
		{"stopping", 503},
		{"download-failed", 500},
		{"not-ready", 503},
	}
}

func stateProblems() []problemText {
	return []problemText{
		{"object-gone", 410},
		{"data-erased", 410},
		{"range-refused", 416},
		{"not-found", 404},
		{"conflict", 409},
		{"version-withdrawn", 410},
		{"digest-missing", 428},
		{"draft-changed", 412},
		{"document-incomplete", 409},
		{"breaking-change", 409},
		{"sight-lost", 409},
		{"not-resendable", 409},
		{"event-expired", 409},
		{"not-a-pull-subscription", 409},
		{"not-encrypted", 503},
		{"subscription-stopped", 409},
		{"busy", 503},
		{"store-unavailable", 503},
		{"unavailable", 503},
		{"timeout", 503},
		{"internal", 500},
	}
}
