package cms_test

import (
	"bytes"
	"runtime"
	"slices"
	"testing"

	"schakel/delivery/amqp/cms"
)

// FuzzOpen gives anything as a body: it never panics, and every fault of a
// message has a kind.
func FuzzOpen(f *testing.F) {
	p := newParties(f)
	f.Add(p.seal(f, []byte("<MsgHead/>")))
	f.Add(p.sign(f, []byte("<MsgHead/>")))
	f.Add([]byte{0x30, 0x80, 0x24, 0x80, 0x04, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00})
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := cms.Unseal(body, p.keys(), p.want()); err != nil && cms.KindOf(err) == "" {
			t.Errorf("no kind: %v", err)
		}
	})
}

// FuzzVerify puts anything in the place of a part of a signed message: either
// it is refused, or the content equals the signed one.
func FuzzVerify(f *testing.F) {
	p := newParties(f)
	content := []byte("<MsgHead/>")
	signed := p.sign(f, content)
	f.Add(uint16(0), uint16(0), []byte{})
	f.Add(uint16(60), uint16(1), []byte{0x80})
	f.Add(uint16(bytes.Index(signed, content)), uint16(3), []byte("abc"))
	f.Fuzz(func(t *testing.T, at, length uint16, change []byte) {
		from := int(at) % len(signed)
		changed := slices.Replace(bytes.Clone(signed), from, min(from+int(length), len(signed)), change...)
		got, err := cms.Verify(changed, p.want())
		switch {
		case err != nil && cms.KindOf(err) == "":
			t.Errorf("no kind: %v", err)
		case err == nil && !bytes.Equal(got.Content, content):
			t.Errorf("verified %q, which nobody signed", got.Content)
		}
	})
}

// TestHostileMemory: a body of 16 MiB made to be costly takes no more memory
// than an honest one.
//
// Rules: AMQP-127
func TestHostileMemory(t *testing.T) { // not parallel: it measures the heap
	p := newParties(t)
	const size = 16 << 20
	pieces := append([]byte{0x24, 0x80}, bytes.Repeat([]byte{0x04, 0x00}, size/2)...)
	for name, body := range map[string][]byte{
		"deep":        bytes.Repeat([]byte{0x30, 0x80}, size/2),
		"pieces":      append(pieces, 0, 0),
		"deep pieces": bytes.Repeat([]byte{0x24, 0x80}, size/2),
		"flat":        append([]byte{0x30, 0x84, 0x01, 0x00, 0x00, 0x00}, bytes.Repeat([]byte{0x05, 0x00}, size/2)...),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := cms.Open(body, p.keys())
		runtime.ReadMemStats(&after)
		if cms.KindOf(err) != cms.InvalidCMS {
			t.Errorf("%s: %v", name, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > size {
			t.Errorf("%s: %d bytes for a body of %d", name, used, size)
		}
	}
}

// BenchmarkSeal and BenchmarkOpen: 4 KB, 1 MB and 16 MB of content.
func BenchmarkSeal(b *testing.B) {
	p := newParties(b)
	for name, size := range sizes() {
		b.Run(name, func(b *testing.B) {
			content := make([]byte, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				p.seal(b, content)
			}
		})
	}
}

// BenchmarkOpen opens and verifies.
func BenchmarkOpen(b *testing.B) {
	p := newParties(b)
	for name, size := range sizes() {
		b.Run(name, func(b *testing.B) {
			body := p.seal(b, make([]byte, size))
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := cms.Unseal(body, p.keys(), p.want()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func sizes() map[string]int { return map[string]int{"4KB": 4 << 10, "1MB": 1 << 20, "16MB": 16 << 20} }
