package main

// idemRules are the rules of idempotency: of the profile, its example and the
// draft of the Idempotency-Key header.
func idemRules() []Rule {
	return append(idemProfile(), append(idemAround(), corrections()...)...)
}

func idemProfile() []Rule {
	return []Rule{
		{ID: "IDEM-01", Level: must, Text: "The rules hold for what is answered at once and for what is not"},
		{ID: "IDEM-02", Level: must, Text: "Every request with events carries an Idempotency-Key"},
		{ID: "IDEM-03", Level: must, Text: "So does every POST and PATCH that changes something, where the chain is strict"},
		{ID: "IDEM-04", Level: must, Text: "No change escapes that by its method"},
		{ID: "IDEM-05", Level: should, Text: "DELETE honours a key: twice gives the same answer"},
		{ID: "IDEM-06", Level: must, Text: "A key is a UUID of version 4"},
		{ID: "IDEM-07", Level: should, Text: "A key lives seven days"},
		{ID: "IDEM-08", Level: must, Text: "A fingerprint tells requests under one key apart"},
		{ID: "IDEM-09", Level: must, Text: "The sender keeps its key for its whole life, through restarts"},
		{ID: "IDEM-10", Level: may, Text: "The sender works from an outbox"},
		{ID: "IDEM-11", Level: must, Text: "One key, one payload: 422 for another"},
		{ID: "IDEM-12", Level: should, Text: "Retries stop when the key is over; then a person decides"},
		{ID: "IDEM-13", Level: must, Text: "After that a new key, for the same event"},
		{ID: "IDEM-14", Level: must, Text: "A repeated request gets the answer of the first"},
		{ID: "IDEM-15", Level: should, Text: "A repeated event is accepted, and handled once"},
		{ID: "IDEM-16", Level: must, Text: "Keys are apart for each client"},
		{ID: "IDEM-17", Level: should, Text: "Key and effect are kept in one transaction"},
		{ID: "IDEM-18", Level: must, Text: "The key is looked at before all else, and 400 when it is wrong"},
	}
}

// idemAround are the example of the profile and the draft of the header.
func idemAround() []Rule {
	return []Rule{
		{ID: "IDEM-X01", Level: should, Text: "A known event is dropped, an unknown one handled, its id kept with the effect"},
		{ID: "IDEM-X02", Level: should, Text: "The id is the producer's and never changes on the way"},
		{ID: "IDEM-X03", Level: example, Text: "The outbox keeps payload, key, expiry and state of each delivery"},
		{ID: "IDEM-X04", Level: example, Text: "A key is kept with client, fingerprint, status, headers, body and times"},
		{ID: "IDEM-X05", Level: example, Text: "Of many requests at once under one key, one does its work"},
		{ID: "IDEM-X06", Level: example, Text: "4xx is for a person to mend, 5xx for another try"},
		{ID: "IDEM-I01", Level: must, Text: "The header is one quoted string of RFC 8941"},
		{ID: "IDEM-I02", Level: must, Text: "A key is never used with another payload"},
		{ID: "IDEM-I03", Level: should, Text: "A key is random"},
		{ID: "IDEM-I04", Level: may, Text: "The fingerprint is a checksum over the payload"},
		{ID: "IDEM-I05", Level: must, Text: "What we do with keys, and how long, is published"},
		{ID: "IDEM-I06", Level: should, Text: "400, 409 and 422 are problem documents that lead to an explanation"},
		{ID: "IDEM-I07", Level: should, Text: "A repeated request gets the same result, success or error"},
		{ID: "IDEM-I08", Level: must, Text: "The sender repeats 409 and never a request that must be mended"},
		{ID: "IDEM-I09", Level: should, Text: "A key of fixed form, looked at first, looked up per client"},
	}
}

// corrections are the errors of the text, in the corrected form that holds here.
func corrections() []Rule {
	return []Rule{
		{ID: "E1", Level: corrected, Text: "A key is over when its time has passed, not before"},
		{ID: "E2", Level: corrected, Text: "Cleaning up takes what is over and leaves what lives"},
		{ID: "E3", Level: corrected, Text: "5xx and time-outs are tried again, not failed at once"},
		{ID: "E4", Level: corrected, Text: "A key on DELETE is asked for where the chain says so"},
		{ID: "E5", Level: corrected, Text: "An invalid key is always 400"},
		{ID: "E6", Level: corrected, Text: "Seven days is the default, and can be set"},
		{ID: "E7", Level: editorial, Text: "HTTP methods are those of RFC 9110", Reason: "a reference in the text; the router holds methods by RFC 9110"},
		{ID: "E8", Level: corrected, Text: "The unique insert is the lock, so that nothing comes between look-up and lock"},
		{ID: "E9", Level: editorial, Text: "A consumer is not a provider", Reason: "a wrong word in the text"},
		{ID: "E10", Level: editorial, Text: "Annexes are referred to by the wrong name", Reason: "wrong references in the text"},
		{ID: "E11", Level: corrected, Text: "Other content under a used key is refused, or kept aside where the chain says so"},
		{ID: "E12", Level: corrected, Text: "409 only while the first request is not on disk"},
		{ID: "E13", Level: corrected, Text: "Keys are looked up by client and operation"},
		{ID: "E14", Level: editorial, Text: "The draft has expired and is no standard", Reason: "a label in the text"},
		{ID: "E15", Level: editorial, Text: "Exactly once is said of effects alone", Reason: "about words; what we guarantee is said as at least once"},
		{ID: "E16", Level: editorial, Text: "Limiting by address is advised against", Reason: "a wrong level in the text; EDU-20b holds"},
		{ID: "E17", Level: corrected, Text: "Only completed outcomes are stored with a key"},
	}
}
