package event

import (
	"strings"
	"testing"
)

// sample is an event of some 700 bytes, as the education chain would send it.
func sample() []byte {
	return []byte(`{"specversion":"1.0","id":"3f1d5b0e-6f0c-4c6e-9f39-0f6b2f1f7a11","source":"urn:nld:oin:00000001823288444000:systeem:leerlingadministratie",` +
		`"type":"nl.edu-v.leerlingen.leerling-gewijzigd.v1","subject":"leerling/8f14e45f","time":"2026-05-01T09:30:00.123+02:00",` +
		`"datacontenttype":"application/json","dataschema":"https://register.example.nl/contracts/leerlingen/1.0.0","sequence":"0000000042",` +
		`"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",` +
		`"data":{"notificationType":"object","objectType":"leerling","objectId":"8f14e45f-ceea-467f-a9d0-2b6f4f1e1c11","school":{"brin":"00AA","vestiging":"00AA01"},` +
		`"created":"2026-05-01T09:29:58Z","url":"https://api.example.nl/leerlingen/8f14e45f","isDeleteNotification":false}}`)
}

func BenchmarkParseJSON(b *testing.B) {
	body := sample()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseJSON(body, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	e, err := ParseJSON(sample(), Limits{})
	if err != nil {
		b.Fatal(err)
	}
	buffer := e.AppendJSON(nil)
	b.SetBytes(int64(len(buffer)))
	b.ReportAllocs()
	for b.Loop() {
		buffer = e.AppendJSON(buffer[:0])
	}
}

func BenchmarkParseBatch(b *testing.B) {
	body := []byte("[" + strings.Repeat(string(sample())+",", 99) + string(sample()) + "]")
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if events, err := ParseBatch(body, Limits{}); err != nil || len(events) != 100 {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseBinary(b *testing.B) {
	e, err := ParseJSON(sample(), Limits{})
	if err != nil {
		b.Fatal(err)
	}
	header := e.BinaryHeader()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseBinary(header, e.Data, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFromParts(b *testing.B) {
	e, err := ParseJSON(sample(), Limits{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := FromParts(e.Attributes, e.DataKind, e.Data); err != nil {
			b.Fatal(err)
		}
	}
}
