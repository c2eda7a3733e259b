package outbound

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestCheckURL(t *testing.T) {
	t.Parallel()
	strict := New(Config{})
	demo := New(Config{AllowPlainHTTP: true, AllowPrefixes: loopbackPrefixes()})
	inside := New(Config{AllowPrefixes: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	tests := []struct {
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
	}
	for _, tt := range tests {
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
