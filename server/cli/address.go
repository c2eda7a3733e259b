package cli

import (
	"errors"
	"net"
	"net/url"
	"strings"
)

// CheckURL refuses to send a secret in the clear to another machine.
func CheckURL(raw string) error {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil {
		return errors.New("must be an https address without a user name")
	}
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || (ip != nil && ip.IsLoopback())
	if u.Scheme == "https" || (u.Scheme == "http" && local) {
		return nil
	}
	return errors.New("must be https; http only goes to this machine itself")
}

// HostOf returns an address without its path.
func HostOf(raw string) string {
	scheme, rest, _ := strings.Cut(raw, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host
}
