package outbound

import (
	"crypto/tls"
	"strings"
	"sync"
	"time"
)

// Validity is the time in which the certificate of a server is valid.
type Validity struct{ From, Until time.Time }

// mostServers bounds the hosts whose certificates are remembered.
const mostServers = 10_000

// servers remembers the certificates of the servers that were connected to since the program started. Ports of a host are not told apart. It is
// safe for concurrent use.
type servers struct {
	mu    sync.Mutex
	known map[string]Validity
}

// note remembers the certificate of a new connection. It was verified before, but by who asked for [Client.TLS] and turned that off.
func (s *servers) note(c tls.ConnectionState) error {
	name := strings.ToLower(c.ServerName)
	if name == "" || len(c.PeerCertificates) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, is := s.known[name]; is || len(s.known) < mostServers {
		s.known[name] = Validity{c.PeerCertificates[0].NotBefore, c.PeerCertificates[0].NotAfter}
	}
	return nil
}

// Certificate returns how long the certificate is valid that a host, by its name, showed last; false when it was not connected to.
func (c *Client) Certificate(host string) (Validity, bool) {
	s := c.cfg.servers
	s.mu.Lock()
	defer s.mu.Unlock()
	v, is := s.known[strings.ToLower(host)]
	return v, is
}
