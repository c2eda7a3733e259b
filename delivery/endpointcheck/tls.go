package endpointcheck

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"schakel/delivery/outbound"
	"schakel/templates/i18n"
)

// checkTLS rates the TLS of the host and reports whether requests can be sent to it.
func (r *run) checkTLS(ctx context.Context) bool {
	u, err := url.Parse(r.URL)
	if err == nil {
		err = r.client.CheckURL(r.URL)
	}
	if wrong, ok := errors.AsType[*outbound.URLError](err); ok {
		r.add(Finding{Code: "reach", Result: Fault, Text: i18n.Raw(wrong.Detail), Remedy: i18n.Raw(wrong.Remedy)})
		return false
	}
	if unlisted, ok := errors.AsType[*outbound.UnlistedError](err); ok {
		r.add(Finding{Code: "reach", Result: Fault, Text: noAnswer(outbound.KindBlockedAddress), Remedy: unlisted.Message()})
		return false
	}
	conn, name, err := r.client.Dial(ctx, r.URL)
	if err != nil {
		kind := outbound.Kind(err)
		r.add(Finding{Code: "reach", Result: Fault, Text: noAnswer(kind), Remedy: "check.remedy.reach", Received: err.Error()})
		return false
	}
	_ = conn.Close()
	r.pass("reach", i18n.M("check.text.reached", u.Host))
	if u.Scheme == "http" {
		r.skip("check.text.plain", "tls-versions", "tls-suites", "tls-key-exchange", "tls-settings", "certificate-chain",
			"certificate-name", "certificate-dates", "certificate-key", "certificate-signature")
		return true
	}
	if !r.checkVersions(ctx) {
		return false
	}
	r.checkSuites(ctx)
	r.checkGroups(ctx)
	return r.checkCertificate(ctx, name)
}

func (r *run) probe(ctx context.Context, h hello) (serverAnswer, bool) {
	if h.groups == nil {
		h.groups = slices.Concat(hybridGroups, sufficientGroups, brainpool)
	}
	a, err := probe(ctx, r.client, r.URL, h)
	return a, err == nil && a.version == h.version
}

func versionName(v uint16) string {
	switch v {
	case ssl3:
		return "SSL 3.0"
	case tls10:
		return "TLS 1.0"
	case tls11:
		return "TLS 1.1"
	case tls12:
		return "TLS 1.2"
	}
	return "TLS 1.3"
}

// checkVersions finds the versions that are offered (SEC-20), and whether there is TLS at all.
func (r *run) checkVersions(ctx context.Context) bool {
	var offered []string
	level := Level("")
	modern := false
	for _, v := range []uint16{tls13, tls12, tls11, tls10, ssl3} {
		if _, ok := r.probe(ctx, hello{version: v, suites: suitesOf(v)}); !ok {
			continue
		}
		offered = append(offered, versionName(v))
		switch v {
		case tls13:
			level, modern = worse(level, Good), true
		case tls12:
			level, modern = worse(level, Sufficient), true
			if slices.Contains(offered, "TLS 1.3") {
				level = Good // 1.2 beside 1.3 is for those that have no 1.3
			}
		default:
			level = Insufficient
		}
	}
	f := Finding{Code: "tls-versions", Level: level, Sent: "ClientHello: SSL 3.0, TLS 1.0, TLS 1.1, TLS 1.2, TLS 1.3", Received: "ServerHello: " + strings.Join(offered, ", ")}
	switch {
	case len(offered) == 0:
		f.Result, f.Level, f.Text, f.Remedy, f.Received = Fault, Insufficient, "check.text.no-tls", "check.remedy.no-tls", ""
	case !modern:
		f.Result, f.Text, f.Remedy = Fault, i18n.M("check.text.versions", strings.Join(offered, ", ")), "check.remedy.versions-none"
	default:
		f.Result, f.Text = byLevel(level), i18n.M("check.text.versions", strings.Join(offered, ", "))
		if f.Result != Pass {
			f.Remedy = "check.remedy.versions"
		}
	}
	r.add(f)
	return modern
}

// byLevel is the result that a level stands for: what is to be phased out works still.
func byLevel(level Level) Result {
	switch level {
	case Insufficient:
		return Fault
	case PhaseOut:
		return Advice
	}
	return Pass
}

// mostSuites bounds the handshakes that list the suites of one level.
const mostSuites = 8

// accepted lists the suites that a server takes of those offered.
func (r *run) accepted(ctx context.Context, version uint16, offer []uint16) []uint16 {
	var taken []uint16
	for len(offer) > 0 && len(taken) < mostSuites {
		a, ok := r.probe(ctx, hello{version: version, suites: offer})
		if !ok || !slices.Contains(offer, a.suite) {
			break
		}
		taken = append(taken, a.suite)
		offer = slices.DeleteFunc(slices.Clone(offer), func(id uint16) bool { return id == a.suite })
		if a.primeBits > 0 && a.primeBits < 3072 {
			r.report.weakPrime(a.primeBits)
		}
	}
	return taken
}

// checkSuites finds cipher suites that should not be there (SEC-21), and what goes with the handshake of TLS 1.2 (SEC-24).
func (r *run) checkSuites(ctx context.Context) {
	best, has12 := r.probe(ctx, hello{version: tls12, suites: suitesOf(tls12, Good, Sufficient)})
	modern, has13 := r.probe(ctx, hello{version: tls13, suites: suitesOf(tls13)})
	old := r.accepted(ctx, tls12, suitesOf(tls12, PhaseOut))
	bad := r.accepted(ctx, tls12, suitesOf(tls12, Insufficient))
	f := Finding{Code: "tls-suites", Result: Pass, Level: Sufficient, Sent: "ClientHello: " + fmt.Sprint(len(suites)) + " cipher suites"}
	var chosen []string
	if has13 {
		chosen = append(chosen, suiteName(modern.suite))
	}
	if has12 {
		chosen = append(chosen, suiteName(best.suite))
	}
	f.Text = i18n.M("check.text.suites", strings.Join(chosen, ", "))
	for _, worseOnes := range []struct {
		level Level
		ids   []uint16
	}{{PhaseOut, old}, {Insufficient, bad}} {
		for _, id := range worseOnes.ids {
			f.Level = worse(f.Level, worseOnes.level)
			f.Received += suiteName(id) + ": " + string(worseOnes.level) + "\n"
		}
	}
	switch {
	case len(bad) > 0:
		f.Result, f.Text, f.Remedy = Fault, i18n.M("check.text.suites-bad", len(bad), len(old)), "check.remedy.suites"
	case len(old) > 0:
		f.Result, f.Text, f.Remedy = Advice, i18n.M("check.text.suites-old", len(old)), "check.remedy.suites"
	case !has12 && !has13:
		f.Result, f.Text, f.Remedy, f.Level = Fault, "check.text.suites-none", "check.remedy.suites", Insufficient
	}
	r.add(f)
	settings := Finding{Code: "tls-settings", Result: Pass, Level: Good, Text: "check.text.settings"}
	switch {
	case !has12:
	case best.compression:
		settings.Result, settings.Level, settings.Text, settings.Remedy = Fault, Insufficient, "check.text.compression", "check.remedy.settings"
	case !best.renegotiate:
		settings.Result, settings.Level, settings.Text, settings.Remedy = Fault, Insufficient, "check.text.renegotiation", "check.remedy.settings"
	case !best.master:
		settings.Result, settings.Level, settings.Text, settings.Remedy = Advice, PhaseOut, "check.text.master", "check.remedy.settings"
	}
	r.add(settings)
}

// weakPrime keeps the shortest prime that was seen.
func (r *Report) weakPrime(bits int) {
	if r.prime == 0 || bits < r.prime {
		r.prime = bits
	}
}

// checkGroups rates the key exchange (SEC-22).
func (r *run) checkGroups(ctx context.Context) {
	f := Finding{Code: "tls-key-exchange", Result: Pass, Level: Sufficient, Sent: "ClientHello: hybrid groups; elliptic curves; finite fields; weak curves"}
	hybrid, isHybrid := r.probe(ctx, hello{version: tls13, suites: suitesOf(tls13), groups: hybridGroups})
	curve, hasCurve := r.probe(ctx, hello{version: tls13, suites: suitesOf(tls13), groups: sufficientGroups})
	if !hasCurve {
		curve, hasCurve = r.probe(ctx, hello{version: tls12, suites: suitesOf(tls12, Sufficient), groups: append(slices.Clone(sufficientGroups[:5]), brainpool...)})
	}
	var names []string
	if isHybrid {
		f.Level = Good
		names = append(names, groupName(hybrid.group))
	}
	if hasCurve {
		names = append(names, groupName(curve.group))
	}
	field, hasField := r.probe(ctx, hello{version: tls13, suites: suitesOf(tls13), groups: fieldGroups})
	if hasField {
		names = append(names, groupName(field.group))
		f.Level = PhaseOut
		if field.group == 0x0100 {
			f.Level = Insufficient
		}
	}
	weakCurve := false
	ecdhe := slices.DeleteFunc(suitesOf(tls12), func(id uint16) bool { return !strings.HasPrefix(suiteName(id), "ECDHE") })
	for _, weak := range []struct {
		level  Level
		groups []uint16
	}{{PhaseOut, phaseOutGroups}, {Insufficient, weakGroups}} {
		if a, ok := r.probe(ctx, hello{version: tls12, suites: ecdhe, groups: weak.groups}); ok && slices.Contains(weak.groups, a.group) {
			f.Level = worse(f.Level, weak.level)
			weakCurve = weakCurve || weak.level == Insufficient
			names = append(names, groupName(a.group))
		}
	}
	if r.report.prime > 0 {
		f.Level = Insufficient
		names = append(names, fmt.Sprintf("DHE %d", r.report.prime))
	}
	f.Result, f.Text = byLevel(f.Level), i18n.M("check.text.groups", strings.Join(names, ", "))
	if f.Result != Pass {
		f.Remedy = "check.remedy.groups"
	}
	if hasField && f.Result == Fault && r.report.prime == 0 && !weakCurve {
		f.Result = Advice // of TLS 1.3 a server takes such a group only when its client offers no other, as many do by default
	}
	r.add(f)
}
