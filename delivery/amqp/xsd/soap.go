package xsd

import (
	"strings"
	"testing/fstest"
)

// Namespaces of SOAP envelopes.
const (
	soap11 = "http://schemas.xmlsoap.org/soap/envelope/"
	soap12 = "http://www.w3.org/2003/05/soap-envelope"
)

// builtin holds schemas of our own for SOAP envelopes, by file name: just enough to get at the message in the body,
// which is held to its own schema.
func builtin() fstest.MapFS {
	return fstest.MapFS{
		"soap-envelope-1.1.builtin.xsd": {Data: envelope(soap11)},
		"soap-envelope-1.2.builtin.xsd": {Data: envelope(soap12)},
	}
}

func envelope(namespace string) []byte {
	const text = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="NS" elementFormDefault="qualified">
<xs:element name="Envelope"><xs:complexType><xs:sequence>
<xs:element name="Header" minOccurs="0"><xs:complexType><xs:sequence>
<xs:any processContents="skip" minOccurs="0" maxOccurs="unbounded"/></xs:sequence>
<xs:anyAttribute processContents="skip"/></xs:complexType></xs:element>
<xs:element name="Body"><xs:complexType><xs:sequence>
<xs:any processContents="lax" minOccurs="0" maxOccurs="unbounded"/></xs:sequence>
<xs:anyAttribute processContents="skip"/></xs:complexType></xs:element>
</xs:sequence><xs:anyAttribute processContents="skip"/></xs:complexType></xs:element>
</xs:schema>`
	return []byte(strings.Replace(text, "NS", namespace, 1))
}
