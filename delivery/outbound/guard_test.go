package outbound

import (
	"errors"
	"net/netip"
	"testing"
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
	tests := []struct {
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
	}
	for _, tt := range tests {
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
