package amqp

import (
	"bytes"
	"encoding/xml"

	"schakel/delivery/amqp/msghead"
)

// soapFault is the answer to a request that could not be handled (AMQP-96): a SOAP 1.2 fault of the sender's or the
// receiver's making.
func soapFault(whose, reason string) []byte {
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?><env:Envelope xmlns:env="` + msghead.NamespaceSOAP12 + `"><env:Body><env:Fault><env:Code><env:Value>env:` +
		whose + `</env:Value></env:Code><env:Reason><env:Text xml:lang="en">`)
	_ = xml.EscapeText(&b, []byte(reason)) // writing to a buffer does not fail
	b.WriteString(`</env:Text></env:Reason></env:Fault></env:Body></env:Envelope>`)
	return b.Bytes()
}
