package outbound

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"
	"golang.org/x/net/idna"
)

// guard decides whether an address may be connected to. It is immutable, so a changed allow list means a new guard.
type guard struct {
	ranges       *ssrf.Guardian
	loopbackOnly bool
}

func newGuard(allow []netip.Prefix, loopbackOnly bool) *guard {
	if loopbackOnly {
		allow = loopbackPrefixes()
	}
	v4, v6 := splitPrefixes(allow)
	return &guard{
		ranges: ssrf.New(
			ssrf.WithAnyPort(),
			ssrf.WithAllowedV4Prefixes(v4...),
			ssrf.WithAllowedV6Prefixes(v6...),
		),
		loopbackOnly: loopbackOnly,
	}
}

// control is called by net.Dialer with the address it is about to connect to, after every name was looked up: what a name
// resolved to earlier is of no importance, so a name that changes its answer gains nothing.
func (g *guard) control(network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("network %s: %w", network, ErrBlockedAddress)
	}
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("parse address: %w", ErrBlockedAddress)
	}
	return g.check(target.Addr())
}

func (g *guard) check(ip netip.Addr) error {
	if ip.Zone() != "" {
		return fmt.Errorf("address with a zone: %w", ErrBlockedAddress)
	}
	ip = ip.Unmap()
	if isMetadata(ip) {
		return fmt.Errorf("metadata service: %w", ErrBlockedAddress)
	}
	if g.loopbackOnly && !ip.IsLoopback() {
		return fmt.Errorf("plain HTTP beyond loopback: %w", ErrBlockedAddress)
	}
	if g.ranges.SafeAddr(ip) != nil {
		return fmt.Errorf("special range: %w", ErrBlockedAddress)
	}
	// Where NAT64 is allowed, packets end up at the IPv4 address inside.
	if inner, ok := nat64Inner(ip); ok {
		return g.check(inner)
	}
	return nil
}

// isMetadata reports whether a cloud hands credentials to its machines at this fixed address. No partner lives there, so no
// allow list opens them.
func isMetadata(ip netip.Addr) bool {
	return slices.Contains([]string{
		"169.254.169.254", // AWS, Azure, Google, OpenStack and others
		"169.254.169.253", // AWS name server
		"169.254.170.2",   // AWS container credentials
		"169.254.170.23",  // AWS pod identity
		"fd00:ec2::254",   // AWS over IPv6
		"fd00:ec2::23",    // AWS pod identity over IPv6
		"fd20:ce::254",    // Google over IPv6
		"100.100.100.200", // Alibaba
		"192.0.0.192",     // Oracle
		"168.63.129.16",   // Azure host agent, a public address
	}, ip.String())
}

func nat64Inner(ip netip.Addr) (netip.Addr, bool) {
	if !ssrf.IPv6NAT64Prefix.Contains(ip) {
		return netip.Addr{}, false
	}
	b := ip.As16()
	return netip.AddrFrom4([4]byte(b[12:])), true
}

func splitPrefixes(prefixes []netip.Prefix) (v4, v6 []netip.Prefix) {
	for _, p := range prefixes {
		if p.Addr().Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		if p.Addr().Is4() {
			v4 = append(v4, p.Masked())
		} else {
			v6 = append(v6, p.Masked())
		}
	}
	return v4, v6
}

func loopbackPrefixes() []netip.Prefix {
	return []netip.Prefix{
		netip.PrefixFrom(netip.AddrFrom4([4]byte{127}), 8),
		netip.PrefixFrom(netip.IPv6Loopback(), 128),
	}
}

// maxURLLength is more than any address needs that a person has to manage.
const maxURLLength = 2048

// URLError reports why an address cannot be registered and how to correct it. Both texts are meant for a form.
type URLError struct {
	Code   string // "malformed", "scheme", "credentials", "fragment", "host", "blocked-address"
	Detail string // the problem
	Remedy string // its correction
}

// Error joins the problem and its correction.
func (e *URLError) Error() string { return e.Detail + " " + e.Remedy }

// Unwrap makes errors.Is(err, ErrBlockedAddress) hold where it should.
func (e *URLError) Unwrap() error {
	if e.Code == KindBlockedAddress {
		return ErrBlockedAddress
	}
	return nil
}

// CheckURL judges an address at registration (CE-60, SEC-27), without looking its name up: the address behind the name is
// judged when it is used. The error is a *URLError or an *UnlistedError.
func (c *Client) CheckURL(raw string) error {
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" || len(raw) > maxURLLength || strings.ContainsFunc(raw, isSpaceOrControl) {
		return &URLError{"malformed", "This is not a valid URL.", "Write it in full, such as https://events.example.nl/webhook."}
	}
	switch {
	case u.Scheme != "https" && !(u.Scheme == "http" && c.cfg.AllowPlainHTTP):
		return &URLError{"scheme", "The URL must begin with https://.", "Events and tokens are only sent over an encrypted connection."}
	case u.User != nil:
		return &URLError{"credentials", "The URL holds a user name or password.", "Leave it out; credentials go in the fields meant for them."}
	case strings.Contains(raw, "#"):
		return &URLError{"fragment", "The URL holds a fragment (the part after #).", "Leave it out; it is never sent."}
	case u.Hostname() == "":
		return &URLError{"host", "The URL names no host.", "Write it in full, such as https://events.example.nl/webhook."}
	case !validPort(u):
		return &URLError{"host", "The port in the URL is not valid.", "Use a number from 1 to 65535, or leave it out."}
	}
	return c.checkHost(u)
}

func (c *Client) checkHost(u *url.URL) error {
	g := c.pool.Load().guard
	if u.Scheme == "http" {
		g = newGuard(nil, true)
	}
	host, err := hostASCII(u.Hostname())
	if err != nil || host == "" {
		return &URLError{"host", "The host name in the URL is not valid.", "Check its spelling; a name consists of letters, digits, hyphens and dots."}
	}
	if !listed(c.cfg.Hosts, host) {
		return &UnlistedError{host}
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case err == nil && g.check(ip) != nil:
		return blockedURL(u.Scheme)
	case err == nil:
		return nil
	case endsInNumber(host):
		return &URLError{"host", "The host in the URL looks like an IP address but is not written in full.", "Write four numbers with dots between, or use a host name."}
	case isLocalName(host) && g.check(netip.AddrFrom4([4]byte{127, 0, 0, 1})) != nil:
		return blockedURL(u.Scheme)
	case u.Scheme == "http" && !isLocalName(host):
		return blockedURL(u.Scheme)
	}
	return nil
}

func blockedURL(scheme string) *URLError {
	if scheme == "http" {
		return &URLError{KindBlockedAddress, "Without encryption only this machine itself can be reached.", "Write https:// instead of http://."}
	}
	return &URLError{KindBlockedAddress, "The URL leads to an address that this installation does not send to.", "Use a public host name, or ask the administrator to allow the range."}
}

// hostASCII does what net/http does to a host before it dials, so that
// look-alikes such as circled digits are judged as what they become.
func hostASCII(host string) (string, error) {
	if strings.Contains(host, ":") {
		return host, nil // IPv6; a zone stays and the guard rejects it
	}
	host, err := idna.Lookup.ToASCII(host)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(host, "."), nil
}

// endsInNumber follows the rule of the WHATWG URL standard: such hosts, like
// "127.1" or "0x7f000001", are read as addresses by part of the world.
func endsInNumber(host string) bool {
	last := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

func isLocalName(host string) bool {
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

func validPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && port > 0
}

func isSpaceOrControl(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }
