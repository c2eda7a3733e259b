package installation

import (
	"time"

	"schakel/store"
	"schakel/templates/i18n"
)

func judgeClock(f *Facts) ([]Finding, bool) {
	var found []Finding
	known := false
	if d := f.Database; d != nil && !d.Clock.IsZero() {
		known = true
		if off := f.Now.Sub(d.Clock); off.Abs() > clockNear {
			found = append(found, Finding{Code: "clock-database", Severity: far(off), Text: i18n.M("installation.clock.database", span(off)), Remedy: "installation.clock.remedy"})
		}
	}
	for _, a := range f.Answers {
		if f.Now.Sub(a.Got) > answerRecent {
			continue
		}
		known = true
		if off := a.Got.Sub(a.Told); off.Abs() > clockNear {
			found = append(found, Finding{Code: "clock-outside", Severity: far(off), Text: i18n.M("installation.clock.outside", span(off), a.Host), Remedy: "installation.clock.outside-remedy"})
		}
		break // the newest alone: clocks are set right
	}
	if !f.Newest.IsZero() {
		known = true
		if ahead := f.Newest.Sub(f.Now); ahead > clockMoment {
			found = append(found, Finding{Code: "clock-behind", Severity: Error, Text: i18n.M("installation.clock.behind", f.Newest), Remedy: "installation.clock.behind-remedy"})
		}
	}
	if c := f.Clock; c != nil && c.Known {
		known = true
		if !c.Synchronised {
			found = append(found, Finding{Code: "clock-unsynchronised", Severity: Warning, Text: "installation.clock.unsynchronised", Remedy: "installation.clock.remedy"})
		}
	}
	return found, known
}

// far grades by how much a clock is off.
func far(off time.Duration) Severity {
	if off.Abs() > clockFar {
		return Error
	}
	return Warning
}

// span is a length of time in whole seconds, as an argument of a message.
func span(d time.Duration) i18n.Message {
	return i18n.M("unit.s", int(d.Abs().Round(time.Second)/time.Second))
}

func judgeOutbound(f *Facts) ([]Finding, bool) {
	o := f.Outbound
	if o == nil {
		return nil, false
	}
	var found []Finding
	reached, tried := 0, 0
	for _, t := range o.Targets {
		if t.Kind == Blocked {
			continue // on purpose: the owner of the endpoint is told when a delivery fails
		}
		if t.Kind == Unlisted {
			found = append(found, Finding{Code: "outbound-unlisted", Severity: Warning, Text: i18n.M("installation.outbound.unlisted", t.Host), Remedy: "installation.outbound.unlisted-remedy"})
			continue
		}
		tried++
		if t.Reached {
			reached++
			continue
		}
		if !t.Resolved {
			found = append(found, Finding{Code: "outbound-dns", Severity: Error, Text: i18n.M("installation.outbound.dns", t.Host), Remedy: "installation.outbound.dns-remedy"})
			continue
		}
		found = append(found, Finding{Code: "outbound-unreachable", Severity: Warning, Text: i18n.M("installation.outbound.unreachable", t.Host, reach(t.Kind)), Remedy: "installation.outbound.unreachable-remedy"})
	}
	if tried > 0 && reached == 0 {
		f := Finding{Code: "outbound-none", Severity: Error, Text: "installation.outbound.none", Remedy: "installation.outbound.none-remedy"}
		if o.ProxyVariable != "" {
			f.Remedy = i18n.M("installation.outbound.proxy-remedy", o.ProxyVariable)
		}
		found = append(found, f)
	}
	return found, tried > 0 || found != nil
}

func judgeMail(f *Facts) ([]Finding, bool) {
	if f.Mail == nil {
		return nil, false
	}
	if f.Mail.Host == "" {
		return []Finding{{Code: "mail-none", Severity: Warning, Text: "installation.mail.none", Remedy: "installation.mail.none-remedy", Href: "/docs/operating"}}, true
	}
	for _, m := range f.Mails {
		switch {
		case m.Status == store.MailSent:
			return nil, true // it works since
		case f.Now.Sub(m.CreatedAt.Time) > mailRecent:
			return nil, true
		case m.Status == store.MailFailed:
			return []Finding{{Code: "mail-failed", Severity: Error, Text: i18n.M("installation.mail.failed", m.CreatedAt.Time, i18n.Raw(m.Error)), Remedy: "installation.mail.failed-remedy", Href: "/admin/mails/" + m.ID}}, true
		case m.Error != "":
			return []Finding{{Code: "mail-retrying", Severity: Warning, Text: i18n.M("installation.mail.retrying", m.CreatedAt.Time, i18n.Raw(m.Error)), Remedy: "installation.mail.failed-remedy", Href: "/admin/mails/" + m.ID}}, true
		}
	}
	return nil, true
}

// judgeLinks tells of connections that others on the way could read, or answer in place of the other side.
func judgeLinks(f *Facts) (found []Finding, known bool) {
	for _, l := range f.Links {
		text := i18n.M("installation.connection.plain", l.To)
		code := "connection-plain"
		if l.Encrypted {
			text, code = i18n.M("installation.connection.unverified", l.To), "connection-unverified"
		}
		found = append(found, Finding{Code: code, Severity: Warning, Text: text, Remedy: i18n.Word("installation.connection.remedy", l.Kind)})
	}
	return found, f.usable()
}

// auditPatience bounds how long an entry of the audit trail waits for the systems that get it.
const auditPatience = 5 * time.Minute

func judgeAudit(f *Facts) (found []Finding, known bool) {
	for _, t := range f.Audit {
		if t.Waiting == 0 || f.Now.Sub(t.Since) < auditPatience {
			continue
		}
		text := i18n.M("installation.audit.behind", t.To, int(t.Waiting), t.Since)
		if t.Failure != "" {
			text = i18n.M("installation.audit.failed", t.To, int(t.Waiting), t.Since, i18n.Raw(t.Failure))
		}
		found = append(found, Finding{Code: "audit-behind", Severity: Warning, Text: text, Remedy: "installation.audit.remedy", Href: "/docs/audit"})
	}
	return found, f.usable()
}

func judgeAdministrators(f *Facts) ([]Finding, bool) {
	if !f.usable() {
		return nil, false
	}
	if len(f.Administrators) == 0 {
		return []Finding{{Code: "administrator-none", Severity: Error, Text: "installation.administrator.none", Remedy: "installation.administrator.none-remedy"}}, true
	}
	for _, a := range f.Administrators {
		if a.Confirmed {
			return nil, true
		}
	}
	return []Finding{{Code: "administrator-unconfirmed", Severity: Warning, Text: "installation.administrator.unconfirmed", Remedy: "installation.administrator.unconfirmed-remedy", Href: "/admin/installation#mail"}}, true
}
