package outbound

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"

	"schakel/templates/i18n"
)

// UnlistedError reports that a host is not among those of Config.Hosts. It is an ErrBlockedAddress too.
type UnlistedError struct{ Host string }

// Error names the remedy, which is the same for whoever reads it.
func (e *UnlistedError) Error() string {
	return e.Host + " is not among --outbound-hosts; ask the operator of this installation to allow it"
}

// Unwrap makes it an ErrBlockedAddress.
func (e *UnlistedError) Unwrap() error { return ErrBlockedAddress }

// Message is the same in the language of the reader, for a form.
func (e *UnlistedError) Message() i18n.Message { return i18n.M("registry.host-unlisted", e.Host) }

// Host names hosts that requests may go to: one, by name or address, or with "*." before a name all below that name.
type Host string

// UnmarshalText reads a host as an operator writes it.
func (h *Host) UnmarshalText(text []byte) error {
	name, below := strings.CutPrefix(string(text), "*.")
	ascii, err := hostASCII(name)
	ip, noIP := netip.ParseAddr(ascii)
	if err != nil || ascii == "" || noIP != nil && (strings.ContainsAny(ascii, ":/*") || endsInNumber(ascii)) || noIP == nil && below {
		return errors.New("a host is a name such as api.example.nl, an address without a port, or *.example.nl for every name below example.nl")
	}
	if noIP == nil {
		ascii = ip.Unmap().String()
	}
	if below {
		ascii = "." + ascii
	}
	*h = Host(ascii)
	return nil
}

// listed reports whether requests may go to a host; an empty list has them all.
func listed(hosts []Host, name string) bool {
	if len(hosts) == 0 {
		return true
	}
	name, err := hostASCII(name)
	if ip, noIP := netip.ParseAddr(name); noIP == nil {
		name = ip.Unmap().String()
	}
	return err == nil && slices.ContainsFunc(hosts, func(h Host) bool {
		return string(h) == name || h[0] == '.' && len(name) > len(h) && strings.HasSuffix(name, string(h))
	})
}

// DialListed connects to hosts of a list alone, for protocols other than HTTP; it does not judge the address behind a name.
func DialListed(hosts []Host) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if name, _, err := net.SplitHostPort(address); err == nil && !listed(hosts, name) {
			return nil, &UnlistedError{name}
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
}
