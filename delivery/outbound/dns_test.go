package outbound

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// TestRebinding asks a name server that first gives an allowed address and
// then a blocked one for the same name, both with the same service behind it.
//
// Rules: SEC-27.
func TestRebinding(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	server, _ := newServer(t, Config{}, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	var answer atomic.Pointer[[4]byte]
	client := trusting(server, Config{
		AllowPrefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
		Resolver:      nameServer(t, &answer),
	})
	// The certificate of httptest is also valid for example.com.
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	target := "https://example.com:" + port

	answer.Store(&[4]byte{127, 0, 0, 1})
	if _, err := client.Do(t.Context(), newRequest(t, "GET", target, "")); err != nil {
		t.Fatalf("first answer: %v", err)
	}
	answer.Store(&[4]byte{127, 0, 0, 2})
	client.CloseIdleConnections()
	_, err := client.Do(t.Context(), newRequest(t, "GET", target, ""))
	if !errors.Is(err, ErrBlockedAddress) || Kind(err) != KindBlockedAddress {
		t.Errorf("second answer: kind %q, %v", Kind(err), err)
	}
	if strings.Contains(err.Error(), "127.0.0.2") {
		t.Errorf("error shows what the name resolves to: %v", err)
	}
	if hits.Load() != 1 {
		t.Errorf("%d requests arrived, want 1", hits.Load())
	}
}

func TestUnknownName(t *testing.T) {
	t.Parallel()
	client := New(Config{Resolver: nameServer(t, new(atomic.Pointer[[4]byte]))})
	_, err := client.Do(t.Context(), newRequest(t, "GET", "https://nowhere.example/", ""))
	if Kind(err) != KindDNS {
		t.Errorf("kind %q: %v", Kind(err), err)
	}
}

// nameServer answers every question for an IPv4 address with answer, and with "no such name" when that is nil.
func nameServer(t *testing.T, answer *atomic.Pointer[[4]byte]) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply := answerFor(buf[:n], answer.Load()); reply != nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func answerFor(query []byte, ip *[4]byte) []byte {
	var msg dnsmessage.Message
	if msg.Unpack(query) != nil {
		return nil
	}
	msg.Response, msg.Additionals = true, nil
	question := msg.Questions[0]
	switch {
	case ip == nil:
		msg.RCode = dnsmessage.RCodeNameError
	case question.Type == dnsmessage.TypeA:
		head := dnsmessage.ResourceHeader{Name: question.Name, Class: question.Class, Type: question.Type}
		msg.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AResource{A: *ip}}}
	}
	reply, err := msg.Pack()
	if err != nil {
		return nil
	}
	return reply
}

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
