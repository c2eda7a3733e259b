package main

// secRules are the rules of OAuth and TLS.
func secRules() []Rule {
	return append(secTokens(), secTransport()...)
}

func secTokens() []Rule {
	return []Rule{
		{ID: "SEC-01", Level: must, Text: "Grant client_credentials alone, no refresh tokens"},
		{ID: "SEC-02", Level: must, Text: "Clients prove themselves with private_key_jwt"},
		{ID: "SEC-03", Level: may, Text: "Or with a TLS certificate", Reason: "an option that is not offered"},
		{ID: "SEC-04", Level: must, Text: "An assertion is for one endpoint, short-lived and used once"},
		{ID: "SEC-05", Level: must, Text: "Keys are published as a JWKS and roll without a failed token"},
		{ID: "SEC-06", Level: must, Text: "Keys carry PKIoverheid certificates with an OIN", Reason: "identity in full comes later; keys are registered with the client by its administrator"},
		{ID: "SEC-07", Level: must, Text: "Access tokens are signed JWTs, and all of one is checked"},
		{ID: "SEC-08", Level: must, Text: "A token in the address is refused"},
		{ID: "SEC-09", Level: should, Text: "Tokens live short and are asked for once a lifetime"},
		{ID: "SEC-10", Level: must, Text: "Scopes are described, and enforced as described"},
		{ID: "SEC-11", Level: must, Text: "Tokens are read as JWT; a revoked client is out within seconds"},
		{ID: "SEC-12", Level: must, Text: "Keys are found by discovery, fetched again for an unknown one, not flooded"},
		{ID: "SEC-13", Level: optional, Text: "Tokens bound to a certificate or key", Reason: "an option that is not offered"},
		{ID: "SEC-14", Level: choice, Text: "Mandates", Reason: "identity in full comes later"},
		{ID: "SEC-15", Level: must, Text: "The OIN in the certificate of a partner is compared with its own", Reason: "open: not built yet; the OIN that a partner gives is checked for its form alone"},
	}
}

func secTransport() []Rule {
	return []Rule{
		{ID: "SEC-20", Level: must, Text: "TLS 1.2 and 1.3, nothing older"},
		{ID: "SEC-21", Level: must, Text: "Only cipher suites rated good or sufficient"},
		{ID: "SEC-22", Level: must, Text: "Key exchange with hybrids first, none that is weak"},
		{ID: "SEC-23", Level: must, Text: "Our own certificate is judged at the start"},
		{ID: "SEC-24", Level: must, Text: "No compression, renegotiation or early data", Reason: "the TLS of the Go library has none of them"},
		{ID: "SEC-25", Level: must, Text: "Two-way TLS", Reason: "an option of a chain that is not offered yet"},
		{ID: "SEC-26", Level: must, Text: "Certificates of others are always verified"},
		{ID: "SEC-27", Level: own, Text: "No request of ours reaches what it should not; sizes and times are bounded"},
	}
}
