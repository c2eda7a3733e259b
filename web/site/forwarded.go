package site

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"
)

// Forwarded is the last request that named, in X-Forwarded-For, another address than its own without coming from a trusted proxy.
type Forwarded struct {
	From netip.Addr
	At   time.Time
}

// noteForwarded remembers where X-Forwarded-For comes from that is not believed: behind a proxy that nobody named, all visitors seem to
// have one address, and share one limit for failed logins.
func (a *App) noteForwarded(r *http.Request) {
	if _, there := r.Header["X-Forwarded-For"]; !there {
		return
	}
	from, trusted := a.fromProxy(r)
	if trusted || !from.IsValid() {
		return
	}
	a.forwarded.Store(&Forwarded{From: from, At: a.Cfg.Now()})
}

// fromProxy returns the address of the connection of a request, and whether it is that of a trusted proxy.
func (a *App) fromProxy(r *http.Request) (from netip.Addr, trusted bool) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}, false
	}
	if from, err = netip.ParseAddr(host); err != nil {
		return netip.Addr{}, false
	}
	from = from.Unmap()
	return from, within(a.Cfg.TrustedProxies, from)
}

func within(ranges []netip.Prefix, ip netip.Addr) bool {
	return slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// Forwarded returns the last untrusted X-Forwarded-For since the program started, if there was one.
func (a *App) Forwarded() (Forwarded, bool) {
	f := a.forwarded.Load()
	if f == nil {
		return Forwarded{}, false
	}
	return *f, true
}
