package i18n

import (
	"context"
	"testing"
)

// BenchmarkT writes a text without arguments, and one that counts.
func BenchmarkT(b *testing.B) {
	ctx := With(context.Background(), NewLocale(Dutch, nil))
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			T(ctx, "time.never")
		}
	})
	b.Run("counted", func(b *testing.B) {
		for b.Loop() {
			T(ctx, "unit.bytes", 1204)
		}
	})
	b.Run("message", func(b *testing.B) {
		m := M("time.in", M("unit.s", 3))
		for b.Loop() {
			_ = m.In(ctx)
		}
	})
}

// BenchmarkLoad reads a catalogue, as the first page in a language does.
func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := load(Dutch); err != nil {
			b.Fatal(err)
		}
	}
}
