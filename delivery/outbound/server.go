package outbound

import (
	"crypto/tls"
	"net/http"
	"sort"
	"strings"
	"sync"
	"time"
)

// Validity is the time in which the certificate of a server is valid.
type Validity struct{ From, Until time.Time }

// mostServers bounds the servers of a kind whose certificates are remembered.
const mostServers = 10_000

// Servers remembers the certificates of the servers that were connected to since the program started: of every request by the name of the host,
// whose ports are not told apart, and of what has a kind by an id of its own. It is safe for concurrent use. A nil one remembers nothing.
type Servers struct {
	mu    sync.Mutex
	known map[string]map[string]Validity // by kind; hosts by name have none
}

// NewServers makes a memory of certificates.
func NewServers() *Servers { return &Servers{known: make(map[string]map[string]Validity)} }

func (s *Servers) set(kind, id string, c *tls.ConnectionState) {
	if s == nil || id == "" || c == nil || len(c.PeerCertificates) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[kind] == nil {
		s.known[kind] = make(map[string]Validity)
	}
	if _, is := s.known[kind][id]; is || len(s.known[kind]) < mostServers {
		s.known[kind][id] = Validity{c.PeerCertificates[0].NotBefore, c.PeerCertificates[0].NotAfter}
	}
}

// note remembers the certificate of a new connection. It was verified before, but by who asked for [Client.TLS] and turned that off. TLS has no
// name for an address: the certificate has it.
func (s *Servers) note(c tls.ConnectionState) error {
	s.set("", strings.ToLower(c.ServerName), &c)
	if c.ServerName == "" && len(c.PeerCertificates) > 0 {
		for _, ip := range c.PeerCertificates[0].IPAddresses {
			s.set("", ip.String(), &c)
		}
	}
	return nil
}

// At returns the VerifyConnection of who connects to a server of a kind by another protocol than HTTP; nil on nil.
func (s *Servers) At(kind, id string) func(tls.ConnectionState) error {
	if s == nil {
		return nil
	}
	return func(c tls.ConnectionState) error {
		s.set(kind, id, &c)
		return nil
	}
}

// For returns a client that also remembers the hosts that it asks, with their ports, as servers of a kind.
func (s *Servers) For(kind string, client *http.Client) *http.Client {
	if s == nil {
		return client
	}
	copied := *client
	copied.Transport = notedTransport{s, kind, client.Transport}
	return &copied
}

// notedTransport is the http.RoundTripper behind For.
type notedTransport struct {
	servers *Servers
	kind    string
	http.RoundTripper
}

func (t notedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	answer, err := t.RoundTripper.RoundTrip(req)
	if err == nil {
		t.servers.set(t.kind, strings.ToLower(req.URL.Host), answer.TLS)
	}
	return answer, err
}

// Last returns how long the certificate is valid that a server of a kind showed last, or for no kind a host by its name; false when there was none.
func (s *Servers) Last(kind, id string) (Validity, bool) {
	if s == nil {
		return Validity{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v, is := s.known[kind][id]
	return v, is
}

// Of lists the servers of a kind that showed a certificate, by id.
func (s *Servers) Of(kind string) (ids []string) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.known[kind] {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	return ids
}

// Certificate returns how long the certificate is valid that a host, by its name, showed last; false when it was not connected to.
func (c *Client) Certificate(host string) (Validity, bool) {
	return c.cfg.Servers.Last("", strings.ToLower(host))
}
