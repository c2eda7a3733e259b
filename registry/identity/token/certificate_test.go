package token

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"testing"
)

// The OIN stands in the serialNumber of the subject, in the forms that PKIoverheid and others write.
//
// Rules: SEC-15.
func TestCertificateOIN(t *testing.T) {
	t.Parallel()
	for serial, want := range map[string]string{
		"00000001234567890000": "00000001234567890000", "OIN:00000001234567890000": "00000001234567890000", "0000 0001 2345 6789 0000": "00000001234567890000",
		"urn:nld:oin:00000001234567890000": "00000001234567890000", "": "", "1234567890000": "", "0000000123456789000x": "", "NTRNO-123456789": "",
	} {
		if got := CertificateOIN(&x509.Certificate{Subject: pkix.Name{SerialNumber: serial}}); got != want {
			t.Errorf("%q: %q", serial, got)
		}
	}
}

// A subject is written by people in many ways, and compared by its parts.
func TestSameSubject(t *testing.T) {
	t.Parallel()
	name := func(id asn1.ObjectIdentifier, value string) pkix.AttributeTypeAndValue {
		return pkix.AttributeTypeAndValue{Type: id, Value: value}
	}
	cert := &x509.Certificate{Subject: pkix.Name{Names: []pkix.AttributeTypeAndValue{
		name(asn1.ObjectIdentifier{2, 5, 4, 6}, "NL"), name(asn1.ObjectIdentifier{2, 5, 4, 10}, "Example, Inc"), name(asn1.ObjectIdentifier{2, 5, 4, 3}, "events.example.nl"),
	}}}
	for written, want := range map[string]bool{
		`CN=events.example.nl,O=Example\, Inc,C=NL`:              true,
		`C = NL, O = Example\, Inc, cn = events.example.nl`:      true,
		`2.5.4.3=events.example.nl+O=Example\, Inc,C=NL`:         true,
		`CN=events.example.nl,C=NL`:                              false,
		`CN=events.example.nl,O=Example\, Inc,C=NL,OU=x`:         false,
		`CN=evil.example.nl,O=Example\, Inc,C=NL`:                false,
		`CN=events.example.nl,CN=events.example.nl,O=x,C=NL`:     false,
		`events.example.nl`:                                      false,
		``:                                                       false,
		`CN=events.example.nl,O=Example\, Inc,C=NL,colour=green`: false,
	} {
		if got := SameSubject(written, cert); got != want {
			t.Errorf("%s: %v", written, got)
		}
	}
	if CheckSubject("CN=x,O=") == nil || CheckSubject("CN=x,O=y") != nil {
		t.Error("a subject is judged wrongly")
	}
}
