package cli

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"schakel/delivery/outbound"
	"schakel/registry/partners"
)

// A delivery is not cut before the time-out of its endpoint, whatever the endpoint may have.
//
// Rules: EDU-12.
func TestDeliveriesMayTakeAsLongAsTheirEndpointSays(t *testing.T) {
	t.Parallel()
	guard, err := OutboundFlags{}.Client()
	if err != nil {
		t.Fatal(err)
	}
	if got := guard.HTTPClient().Timeout; got < partners.LongestTimeout {
		t.Errorf("a request is cut after %s; an endpoint may have a time-out of %s", got, partners.LongestTimeout)
	}
}

// TestRefusedTokenSaysWhereToLook expects the error to point at the client, at the address, or nowhere because it passes.
func TestRefusedTokenSaysWhereToLook(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		400: ": look at the id and the key or secret", 401: ": look at the id and the key or secret", 404: ": look at --token-url", 405: ": look at --token-url", 503: "",
	} {
		text := tokenRefused{status: status}.Error()
		if _, where, _ := strings.Cut(text, fmt.Sprint("status ", status)); !strings.HasPrefix(where, want) || want == "" && where != "" {
			t.Errorf("%d: %s", status, text)
		}
	}
}

// Every client that the program makes for what goes out keeps to --outbound-hosts.
func TestOutboundHosts(t *testing.T) {
	t.Parallel()
	f := OutboundFlags{OutboundHosts: make([]outbound.Host, 1)}
	if err := f.OutboundHosts[0].UnmarshalText([]byte("*.example.nl")); err != nil {
		t.Fatal(err)
	}
	guarded := func(c *outbound.Client, err error) (*http.Client, error) {
		if err != nil {
			return nil, err
		}
		return c.HTTPClient(), nil
	}
	for name, client := range map[string]func() (*http.Client, error){
		"deliveries":  func() (*http.Client, error) { return guarded(f.Client()) },
		"questions":   func() (*http.Client, error) { return guarded(f.Asking()) },
		"mirrors":     func() (*http.Client, error) { return f.MirrorHTTP(1) },
		"references":  func() (*http.Client, error) { return f.PublicHTTP(1) },
		"revocations": f.RevocationHTTP,
	} {
		c, err := client()
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Get("https://example.org/")
		if err == nil {
			_ = resp.Body.Close()
		}
		if outbound.Kind(err) != outbound.KindBlockedAddress || !strings.Contains(err.Error(), "example.org is not among --outbound-hosts") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
