package outbound

import (
	"fmt"
	"net/netip"
	"slices"
	"syscall"

	"code.dny.dev/ssrf"
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

// control is called by net.Dialer with the address it is about to connect to,
// after every name was looked up: what a name resolved to earlier is of no
// importance, so a name that changes its answer gains nothing.
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
