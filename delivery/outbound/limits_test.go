package outbound

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Rules: SEC-27.
func TestEndlessBody(t *testing.T) {
	t.Parallel()
	server, client := newServer(t, Config{MaxResponseBytes: 1000}, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 512)); err != nil {
				return
			}
		}
	})
	resp, err := client.Do(t.Context(), newRequest(t, "GET", server.URL, ""))
	if err != nil || !resp.Truncated || len(resp.Body) != 1000 || resp.Status != 200 {
		t.Errorf("%d bytes, truncated %v, %v", len(resp.Body), resp.Truncated, err)
	}
	lib, err := client.HTTPClient().Get(server.URL)
	must(t, err)
	defer lib.Body.Close()
	body, err := io.ReadAll(lib.Body)
	if len(body) != 1000 || !errors.Is(err, ErrResponseTooLarge) || Kind(err) != KindResponseTooLarge {
		t.Errorf("HTTPClient: %d bytes, %v", len(body), err)
	}
}

func TestBodyOfExactlyTheLimit(t *testing.T) {
	t.Parallel()
	server, client := newServer(t, Config{MaxResponseBytes: 1000}, func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("n"))
		_, _ = w.Write(make([]byte, n))
	})
	for _, n := range []int{0, 1, 999, 1000, 1001} {
		resp, err := client.Do(t.Context(), newRequest(t, "GET", server.URL+"?n="+strconv.Itoa(n), ""))
		if err != nil || len(resp.Body) != min(n, 1000) || resp.Truncated != (n > 1000) {
			t.Errorf("%d: got %d, truncated %v, %v", n, len(resp.Body), resp.Truncated, err)
		}
		lib, err := client.HTTPClient().Get(server.URL + "?n=" + strconv.Itoa(n))
		must(t, err)
		body, err := io.ReadAll(lib.Body)
		_ = lib.Body.Close()
		if len(body) != min(n, 1000) || (err != nil) != (n > 1000) {
			t.Errorf("%d through HTTPClient: got %d, %v", n, len(body), err)
		}
	}
}

func TestHeaderTooLarge(t *testing.T) {
	t.Parallel()
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i := range 100 {
			w.Header().Set("X-"+strconv.Itoa(i), strings.Repeat("a", 1000))
		}
	})
	// HTTP/2 breaks the connection off when the header is far over the limit.
	for http2, want := range map[bool]string{false: KindResponseTooLarge, true: KindProtocol} {
		server := httptest.NewUnstartedServer(handler)
		server.EnableHTTP2 = http2
		server.StartTLS()
		t.Cleanup(server.Close)
		_, err := trusting(server, Config{}).Do(t.Context(), newRequest(t, "GET", server.URL, ""))
		if Kind(err) != want {
			t.Errorf("HTTP/2 %v: kind %q, %v", http2, Kind(err), errors.Unwrap(err))
		}
	}
}

func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, answer, want string }{
		{"closed at once", "", KindConnect},
		{"not HTTP", "SSH-2.0-OpenSSH_9.2\r\n\r\n", KindProtocol},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na", KindProtocol},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			client := New(Config{AllowPlainHTTP: true})
			_, err := client.Do(t.Context(), newRequest(t, "GET", "http://"+rawServer(t, tt.answer), ""))
			if Kind(err) != tt.want {
				t.Errorf("kind %q, want %q: %v", Kind(err), tt.want, errors.Unwrap(err))
			}
		})
	}
}

func TestBodyBreaksOff(t *testing.T) {
	t.Parallel()
	address := rawServer(t, "HTTP/1.1 202 Accepted\r\nContent-Length: 10\r\n\r\nabc")
	resp, err := New(Config{AllowPlainHTTP: true}).Do(t.Context(), newRequest(t, "GET", "http://"+address, ""))
	if Kind(err) != KindConnect || resp == nil || resp.Status != 202 || string(resp.Body) != "abc" || !resp.Truncated {
		t.Errorf("%+v, %v", resp, err)
	}
}

func TestNothingListens(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address := l.Addr().String()
	_ = l.Close()
	_, err = New(Config{AllowPlainHTTP: true}).Do(t.Context(), newRequest(t, "GET", "http://"+address, ""))
	if Kind(err) != KindConnect {
		t.Errorf("kind %q: %v", Kind(err), err)
	}
}

// rawServer reads one request and answers with the given bytes.
func rawServer(t *testing.T, answer string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = conn.Write([]byte(answer))
			_ = conn.Close()
		}
	}()
	return l.Addr().String()
}

// TestSlowAnswers runs on a fake clock, over connections in memory.
//
// Rules: SEC-27.
func TestSlowAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		handler    http.HandlerFunc
		wantStatus int
		wantBody   string
	}{
		{"no header", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 0, ""},
		{"body drips", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte("x"))
				_ = http.NewResponseController(w).Flush()
				select {
				case <-time.After(4 * time.Second):
				case <-r.Context().Done():
				}
			}
		}, 200, "xxx"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := New(Config{AllowPlainHTTP: true, ResponseTimeout: 10 * time.Second})
				stop := servePipes(client, tt.handler)
				defer stop()
				started := time.Now()
				resp, err := client.Do(t.Context(), newRequest(t, "GET", "http://localhost/", ""))
				if Kind(err) != KindTimeout || time.Since(started) != 10*time.Second {
					t.Errorf("kind %q after %v: %v", Kind(err), time.Since(started), err)
				}
				if tt.wantStatus == 0 && resp != nil {
					t.Errorf("response %+v", resp)
				}
				if tt.wantStatus != 0 && (resp.Status != tt.wantStatus || string(resp.Body) != tt.wantBody) {
					t.Errorf("response %+v, body %q", resp, resp.Body)
				}
			})
		})
	}
}

func TestCanceled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := New(Config{AllowPlainHTTP: true})
		stop := servePipes(client, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		defer stop()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := client.Do(ctx, newRequest(t, "GET", "http://localhost/", "")); Kind(err) != KindCanceled {
			t.Errorf("kind %q: %v", Kind(err), err)
		}
	})
}

// servePipes replaces dialling by pipes to a server, so that a fake clock can
// move: it stands still while a real socket is waited for.
func servePipes(client *Client, handler http.HandlerFunc) (stop func()) {
	conns := make(chan net.Conn)
	closed := make(chan struct{})
	server := &http.Server{Handler: handler}
	go func() { _ = server.Serve(pipeListener{conns, closed}) }()
	client.pool.Load().plain.DialContext = func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		conns <- theirs
		return ours, nil
	}
	return func() {
		client.CloseIdleConnections()
		close(closed)
		_ = server.Close()
	}
}

type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}
func (l pipeListener) Close() error   { return nil }
func (l pipeListener) Addr() net.Addr { return &net.TCPAddr{} }
