package replica

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A follower logs once that the certificate of its source ends within 30 days.
func TestCertificateOfSourceEnds(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	until := server.Certificate().NotAfter
	for ahead, want := range map[time.Duration]int{20 * 24 * time.Hour: 1, 31 * 24 * time.Hour: 0} {
		var said bytes.Buffer
		o := RemoteOptions{URL: server.URL + "/datasets/bgt", HTTP: server.Client(), Log: slog.New(slog.NewTextHandler(&said, nil)), Now: func() time.Time { return until.Add(-ahead) }}
		for range 2 { // rounds
			_, err := NewRemote(t.Context(), o)
			if err != nil {
				t.Log(err)
			}
		}
		if n := strings.Count(said.String(), "certificate of the source ends soon"); n != 2*want || want > 0 && !strings.Contains(said.String(), strings.TrimPrefix(server.URL, "https://")) {
			t.Errorf("%s ahead: %s", ahead, said.String())
		}
	}
}
