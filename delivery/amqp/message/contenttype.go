package message

import "strings"

// The content types of the profile (AMQP-25), written exactly so.
const (
	ContentEncrypted          = "application/pkcs7-mime; smime-type=enveloped-data"            // encrypted only
	ContentSigned             = "application/pkcs7-mime; smime-type=signed-data"               // signed only
	ContentSignedAndEncrypted = "application/pkcs7-mime; smime-type=signed-and-enveloped-data" // signed, then encrypted
	ContentSOAP               = "application/soap+xml"                                         // a plain SOAP message
)

// ParseContentType gives the Content constant a value stands for. Case, white space
// and quotes do not count, and "smimetype" is read as smime-type (INC-20). ok is
// false for any other value.
func ParseContentType(value string) (constant string, ok bool) {
	got := strings.Replace(squeeze(value), ";smimetype=", ";smime-type=", 1)
	for _, constant := range []string{ContentEncrypted, ContentSigned, ContentSignedAndEncrypted, ContentSOAP} {
		if got == squeeze(constant) {
			return constant, true
		}
	}
	return "", false
}

func squeeze(value string) string {
	keep := func(r rune) rune {
		switch r {
		case ' ', '\t', '"':
			return -1
		}
		return r
	}
	return strings.ToLower(strings.Map(keep, value))
}
