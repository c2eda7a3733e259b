package outbound

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// BenchmarkDo shows what the guard costs beside a bare http.Client.
func BenchmarkDo(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusAccepted)
	}))
	defer server.Close()
	client := New(Config{AllowPlainHTTP: true})
	b.Run("guarded", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := client.Do(b.Context(), newRequest(b, "POST", server.URL, "x")); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			resp, err := http.DefaultClient.Do(newRequest(b, "POST", server.URL, "x"))
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	})
}
