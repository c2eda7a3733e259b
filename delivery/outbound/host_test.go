package outbound

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

func hosts(t *testing.T, list ...string) []Host {
	t.Helper()
	out := make([]Host, len(list))
	for i, text := range list {
		must(t, out[i].UnmarshalText([]byte(text)))
	}
	return out
}

// A host is listed by its name, its address, or as a name below one, in whatever way both are written.
func TestListedHosts(t *testing.T) {
	t.Parallel()
	list := []string{"API.Example.nl", "*.school.example.nl", "93.184.216.34", "2a00:1450::200E", "gemeente-één.nl", "dot.example.nl."}
	client := New(Config{Hosts: hosts(t, list...)})
	for host, want := range map[string]bool{
		"api.example.nl": true, "API.EXAMPLE.NL": true, "api.example.nl.": true, "api.example.nl:8443": true, "ａｐｉ.example.nl": true,
		"dot.example.nl": true, "xn--gemeente-n-d7ag.nl": false, "gemeente-één.nl": true, "GEMEENTE-ÉÉN.nl": true,
		"noord.school.example.nl": true, "a.b.school.example.nl": true,
		"93.184.216.34": true, "①③.184.216.34": false, "[::ffff:93.184.216.34]": true, "[2a00:1450:0:0:0:0:0:200e]": true,
		"school.example.nl": false, "evilschool.example.nl": false, "api.example.nl.evil.example": false, "x.api.example.nl": false,
		"example.nl": false, "nl": false, "93.184.216.35": false, "[2a00:1450::200f]": false, "localhost": false,
	} {
		err := client.CheckURL("https://" + host + "/in")
		if (err == nil) != want {
			t.Errorf("%s: %v, want listed %v", host, err, want)
		}
		if unlisted, ok := errors.AsType[*UnlistedError](err); err != nil && (!ok || !errors.Is(err, ErrBlockedAddress) || !strings.Contains(err.Error(), unlisted.Host+" is not among --outbound-hosts")) {
			t.Errorf("%s: the error is %v", host, err)
		}
	}
	if err := New(Config{Hosts: hosts(t, "127.0.0.1", "localhost")}).CheckURL("https://127.0.0.1/"); !errors.Is(err, ErrBlockedAddress) {
		t.Errorf("a private address that is listed, and in no allowed range: %v", err)
	}
}

func TestHostsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "*", "*.", ".", "*.*.nl", "a.*.nl", "https://api.example.nl", "api.example.nl/in", "api.example.nl:443", "10.0.0.0/8", "*.10.0.0.1", "*.[::1]", "127.1", "0x7f.1", "a b",
	} {
		var h Host
		if err := h.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken, as %q", text, h)
		}
	}
}

// Whatever goes out is held against the list: each way to send, a redirect that is followed, and a connection that is merely tried.
func TestUnlistedHostsAreNotAsked(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	server, _ := newServer(t, Config{}, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	elsewhere := strings.Replace(server.URL, "127.0.0.1", "localhost", 1) // the same service under a name that is not listed
	listed, other := trusting(server, Config{Hosts: hosts(t, "127.0.0.1")}), trusting(server, Config{Hosts: hosts(t, "*.example.nl", "localhost")})
	redirect := httptest.NewTLSServer(http.RedirectHandler(elsewhere, http.StatusTemporaryRedirect))
	t.Cleanup(redirect.Close)
	for way, send := range map[string]func(c *Client, address string) error{
		"Do": func(c *Client, address string) error {
			_, err := c.Do(t.Context(), newRequest(t, "POST", address, "x"))
			return err
		},
		"DoFor": func(c *Client, address string) error {
			_, err := c.DoFor(t.Context(), "ept_1", newRequest(t, "POST", address, "x"))
			return err
		},
		"HTTPClient": func(c *Client, address string) error {
			resp, err := c.HTTPClient().Do(newRequest(t, "GET", address, ""))
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			return err
		},
		"Reach": func(c *Client, address string) error { return c.Reach(t.Context(), address) },
	} {
		if err := send(listed, server.URL); err != nil {
			t.Errorf("%s to a listed host: %v", way, err)
		}
		for name, err := range map[string]error{"another host": send(other, server.URL), "another name": send(listed, elsewhere)} {
			if Kind(err) != KindBlockedAddress || !strings.Contains(err.Error(), "is not among --outbound-hosts; ask the operator") {
				t.Errorf("%s to %s: %v", way, name, err)
			}
		}
	}
	for addr, want := range map[string]bool{strings.TrimPrefix(server.URL, "https://"): true, strings.TrimPrefix(elsewhere, "https://"): false} {
		conn, err := DialListed(hosts(t, "127.0.0.1"))(t.Context(), "tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		if (err == nil) != want || err != nil && !errors.Is(err, ErrBlockedAddress) {
			t.Errorf("broker at %s: %v", addr, err)
		}
	}
	before := hits.Load()
	following := trusting(redirect, Config{Hosts: hosts(t, "127.0.0.1")}).HTTPClient()
	following.CheckRedirect = nil
	resp, err := following.Do(newRequest(t, "GET", redirect.URL, ""))
	if err == nil {
		_ = resp.Body.Close()
	}
	if failed, ok := errors.AsType[*url.Error](err); !ok || Kind(err) != KindBlockedAddress || failed.URL != elsewhere {
		t.Errorf("a redirect to another host: %v", err)
	}
	if hits.Load() != before {
		t.Error("a request went along with a redirect")
	}
}
