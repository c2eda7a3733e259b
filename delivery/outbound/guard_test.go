package outbound

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// Rules: SEC-27.
func TestGuard(t *testing.T) {
	t.Parallel()
	prefixes := func(list ...string) (out []netip.Prefix) {
		for _, p := range list {
			out = append(out, netip.MustParsePrefix(p))
		}
		return out
	}
	for _, tt := range []struct {
		name    string
		allow   []netip.Prefix
		address string
		want    bool
	}{
		{"public", nil, "93.184.216.34:443", true},
		{"public IPv6", nil, "[2a00:1450:400e:80f::200e]:443", true},
		{"loopback", nil, "127.0.0.1:443", false},
		{"loopback, far end", nil, "127.255.255.254:443", false},
		{"unspecified", nil, "0.0.0.0:443", false},
		{"unspecified IPv6", nil, "[::]:443", false},
		{"loopback IPv6", nil, "[::1]:443", false},
		{"private 10", nil, "10.1.2.3:443", false},
		{"private 172", nil, "172.31.255.255:443", false},
		{"beside private 172", nil, "172.32.0.1:443", true},
		{"private 192", nil, "192.168.1.1:443", false},
		{"shared", nil, "100.64.0.1:443", false},
		{"broadcast", nil, "255.255.255.255:443", false},
		{"multicast", nil, "224.0.0.1:443", false},
		{"benchmark", nil, "198.18.0.1:443", false},
		{"documentation", nil, "203.0.113.5:443", false},
		{"link-local", nil, "169.254.1.1:443", false},
		{"link-local with zone", nil, "[fe80::1%eth0]:443", false},
		{"link-local with zone, allowed", prefixes("fe80::/10"), "[fe80::1%eth0]:443", false},
		{"unique local", nil, "[fd12:3456::1]:443", false},
		{"multicast IPv6", nil, "[ff02::1]:443", false},
		{"IPv4-mapped loopback", nil, "[::ffff:7f00:1]:443", false},
		{"IPv4-mapped public", nil, "[::ffff:93.184.216.34]:443", true},
		{"IPv4-compatible loopback", nil, "[::7f00:1]:443", false},
		{"6to4 of loopback", nil, "[2002:7f00:1::]:443", false},
		{"Teredo", nil, "[2001:0:7f00:1::]:443", false},
		{"documentation IPv6", nil, "[2001:db8::1]:443", false},
		{"NAT64", nil, "[64:ff9b::5db8:d822]:443", false},
		{"NAT64 allowed, public inside", prefixes("64:ff9b::/96"), "[64:ff9b::5db8:d822]:443", true},
		{"NAT64 allowed, loopback inside", prefixes("64:ff9b::/96"), "[64:ff9b::7f00:1]:443", false},
		{"NAT64 allowed, metadata inside", prefixes("64:ff9b::/96"), "[64:ff9b::a9fe:a9fe]:443", false},
		{"local NAT64", nil, "[64:ff9b:1::7f00:1]:443", false},
		{"metadata", nil, "169.254.169.254:80", false},
		{"metadata, link-local allowed", prefixes("169.254.0.0/16"), "169.254.169.254:80", false},
		{"metadata, everything allowed", prefixes("0.0.0.0/0"), "169.254.169.254:80", false},
		{"metadata IPv6, unique local allowed", prefixes("fc00::/7"), "[fd00:ec2::254]:80", false},
		{"metadata Alibaba, shared allowed", prefixes("100.64.0.0/10"), "100.100.100.200:80", false},
		{"metadata Azure, a public address", nil, "168.63.129.16:80", false},
		{"metadata mapped", prefixes("169.254.0.0/16"), "[::ffff:169.254.169.254]:80", false},
		{"allowed private", prefixes("10.0.0.0/8"), "10.1.2.3:8443", true},
		{"allowed private, not masked", prefixes("10.9.9.9/8"), "10.1.2.3:8443", true},
		{"allowed private, mapped prefix", prefixes("::ffff:10.0.0.0/104"), "10.1.2.3:443", true},
		{"allowed private, another private", prefixes("10.0.0.0/8"), "192.168.0.1:443", false},
		{"allowed unique local", prefixes("fd12::/16"), "[fd12::5]:443", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			network := "tcp6"
			if netip.MustParseAddrPort(tt.address).Addr().Is4() {
				network = "tcp4"
			}
			err := newGuard(tt.allow, false).control(network, tt.address, nil)
			if (err == nil) != tt.want {
				t.Fatalf("control(%s) = %v, want allowed %v", tt.address, err, tt.want)
			}
			if err != nil && !errors.Is(err, ErrBlockedAddress) {
				t.Errorf("error %v is not ErrBlockedAddress", err)
			}
		})
	}
}

func TestGuardRefusesOtherNetworks(t *testing.T) {
	t.Parallel()
	for _, network := range []string{"udp4", "unix", "tcp"} {
		if err := newGuard(nil, false).control(network, "93.184.216.34:443", nil); !errors.Is(err, ErrBlockedAddress) {
			t.Errorf("network %s: %v", network, err)
		}
	}
}

func TestPlainGuardTakesLoopbackOnly(t *testing.T) {
	t.Parallel()
	g := newGuard([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, true)
	for address, want := range map[string]bool{
		"127.0.0.1:80": true, "[::1]:80": true, "10.0.0.1:80": false, "93.184.216.34:80": false, "0.0.0.0:80": false,
	} {
		network := "tcp4"
		if address[0] == '[' {
			network = "tcp6"
		}
		if err := g.control(network, address, nil); (err == nil) != want {
			t.Errorf("%s: %v, want allowed %v", address, err, want)
		}
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	strict := New(Config{})
	demo := New(Config{AllowPlainHTTP: true, AllowPrefixes: loopbackPrefixes()})
	inside := New(Config{AllowPrefixes: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	for _, tt := range []struct {
		name   string
		client *Client
		raw    string
		want   string // code, "" when accepted
	}{
		{"plain", strict, "https://events.example.nl/webhook", ""},
		{"port and query", strict, "https://events.example.nl:8443/in?tenant=1", ""},
		{"international name", strict, "https://gemeente-één.nl/", ""},
		{"upper case scheme", strict, "HTTPS://example.nl/", ""},
		{"http", strict, "http://example.nl/", "scheme"},
		{"no scheme", strict, "example.nl/webhook", "scheme"},
		{"file", strict, "file:///etc/passwd", "scheme"},
		{"gopher", strict, "gopher://example.nl/", "scheme"},
		{"opaque", strict, "https:example.nl", "malformed"},
		{"space", strict, "https://example.nl/a b", "malformed"},
		{"newline", strict, "https://example.nl/\r\nX: y", "malformed"},
		{"backslash", strict, `https://example.nl\@127.0.0.1/`, "malformed"},
		{"too long", strict, "https://example.nl/" + strings.Repeat("a", 2048), "malformed"},
		{"user", strict, "https://user@example.nl/", "credentials"},
		{"password", strict, "https://user:pw@example.nl/", "credentials"},
		{"fragment", strict, "https://example.nl/#a", "fragment"},
		{"empty fragment", strict, "https://example.nl/#", "fragment"},
		{"no host", strict, "https:///webhook", "host"},
		{"port only", strict, "https://:443/", "host"},
		{"dot only", strict, "https://./", "host"},
		{"port 0", strict, "https://example.nl:0/", "host"},
		{"port too high", strict, "https://example.nl:70000/", "host"},
		{"empty port", strict, "https://example.nl:/", "host"},
		{"loopback", strict, "https://127.0.0.1/", "blocked-address"},
		{"loopback IPv6", strict, "https://[::1]/", "blocked-address"},
		{"unspecified", strict, "https://0.0.0.0/", "blocked-address"},
		{"unspecified IPv6", strict, "https://[::]/", "blocked-address"},
		{"circled digits", strict, "https://①②⑦.⓪.⓪.①/", "blocked-address"},
		{"circled letters", strict, "https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", "blocked-address"},
		{"ideographic dots", strict, "https://127。0。0。1/", "blocked-address"},
		{"mapped", strict, "https://[::ffff:7f00:1]/", "blocked-address"},
		{"NAT64", strict, "https://[64:ff9b::7f00:1]/", "blocked-address"},
		{"zone", strict, "https://[fe80::1%25eth0]/", "blocked-address"},
		{"metadata", strict, "https://169.254.169.254/latest/meta-data", "blocked-address"},
		{"private", strict, "https://10.0.0.5/", "blocked-address"},
		{"private allowed", inside, "https://10.0.0.5/", ""},
		{"short form", strict, "https://127.1/", "host"},
		{"decimal", strict, "https://2130706433/", "host"},
		{"octal", strict, "https://0177.0.0.1/", "host"},
		{"hexadecimal", strict, "https://0x7f.0x0.0x0.0x1/", "host"},
		{"hexadecimal whole", strict, "https://0x7f000001/", "host"},
		{"trailing dot address", strict, "https://127.0.0.1./", "blocked-address"},
		{"localhost", strict, "https://localhost/", "blocked-address"},
		{"localhost with dot", strict, "https://LOCALHOST./", "blocked-address"},
		{"below localhost", strict, "https://a.localhost/", "blocked-address"},
		{"demo loopback", demo, "http://127.0.0.1:8080/", ""},
		{"demo localhost", demo, "http://localhost:8080/", ""},
		{"demo localhost over TLS", demo, "https://localhost:8080/", ""},
		{"demo public over http", demo, "http://example.nl/", "blocked-address"},
		{"demo public address over http", demo, "http://93.184.216.34/", "blocked-address"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := tt.client.CheckURL(tt.raw)
			code := ""
			if e, ok := errors.AsType[*URLError](err); ok {
				code = e.Code
				if e.Detail == "" || e.Remedy == "" {
					t.Errorf("no detail or remedy: %+v", e)
				}
			}
			if code != tt.want || (err == nil) != (tt.want == "") {
				t.Errorf("CheckURL(%q) = %v, want code %q", tt.raw, err, tt.want)
			}
			if errors.Is(err, ErrBlockedAddress) != (code == "blocked-address") {
				t.Errorf("errors.Is(ErrBlockedAddress) disagrees with code %q", code)
			}
		})
	}
}

func FuzzCheckURL(f *testing.F) {
	for _, seed := range []string{"https://example.nl/", "https://[::1]:443/", "https://①②⑦.⓪.⓪.①/", "https://0x7f.1/", "https://a@b#c"} {
		f.Add(seed)
	}
	client := New(Config{})
	f.Fuzz(func(t *testing.T, raw string) {
		if client.CheckURL(raw) != nil {
			return
		}
		u, err := url.Parse(raw)
		if err != nil || u.Scheme != "https" || u.User != nil || u.Hostname() == "" {
			t.Fatalf("accepted %q", raw)
		}
		if ip, err := netip.ParseAddr(u.Hostname()); err == nil && newGuard(nil, false).check(ip) != nil {
			t.Fatalf("accepted the address in %q", raw)
		}
	})
}

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
	must(t, err)
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
