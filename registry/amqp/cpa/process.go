package cpa

import (
	"maps"
	"slices"
	"strings"

	"schakel/registry/xmlscan"
)

// appRecAction is the action of an acknowledgement, in whatever case it is written.
const appRecAction = "APPREC"

// process reads a CollaborationRole. The name of the process in capitals is the subject of its messages: so the
// exchange ties a process to code list 8279.
func (r *reader) process(root, role *xmlscan.Node, channels map[string]channel) Process {
	spec, binding := role.FindLocal("ProcessSpecification"), role.FindLocal("ServiceBinding")
	p := Process{
		Name: spec.Attribute("name"), Version: spec.Attribute("version"),
		Role: role.FindLocal("Role").Attribute("name"), Service: binding.FindLocal("Service").Text(),
	}
	p.Subject = strings.ToUpper(p.Name)
	for key, value := range map[string]string{
		"amqp.finding.process-without-name": p.Name, "amqp.finding.process-without-role": p.Role, "amqp.finding.process-without-service": p.Service,
	} {
		if value == "" {
			r.note(role.Line, key)
		}
	}
	for _, n := range binding.AllLocal("CanSend") {
		p.add(r.action(root, n, channels), true)
	}
	for _, n := range binding.AllLocal("CanReceive") {
		p.add(r.action(root, n, channels), false)
	}
	return p
}

// action reads the ThisPartyActionBinding in a CanSend or CanReceive; the name is empty when it is no use.
func (r *reader) action(root, n *xmlscan.Node, channels map[string]channel) Action {
	binding := n.FindLocal("ThisPartyActionBinding")
	a := Action{Name: binding.Attribute("action")}
	if a.Name == "" {
		r.note(n.Line, "amqp.finding.no-action", n.Name.Local)
		return a
	}
	characteristics := binding.FindLocal("BusinessTransactionCharacteristics")
	a.Receipt = characteristics.Attribute("isNonRepudiationReceiptRequired") == "true"
	a.Namespaces = namespaces(root, binding.Attribute("packageId"))
	for _, ref := range binding.AllLocal("ChannelId") {
		if c, ok := channels[ref.Text()]; ok {
			a.Mode, a.Queue = c.mode, c.queue
			return a
		}
	}
	r.note(binding.Line, "amqp.finding.no-channel", brief(a.Name))
	return Action{}
}

// add keeps an action of a process, together with the same one in the other direction.
func (p *Process) add(a Action, sends bool) {
	if strings.EqualFold(a.Name, appRecAction) {
		p.SendsAppRec = p.SendsAppRec || sends
		p.TakesAppRec = p.TakesAppRec || !sends
		if p.AppRecVersion == "" {
			p.AppRecVersion = appRecVersion(a.Namespaces)
		}
		return
	}
	if a.Name == "" {
		return
	}
	at := slices.IndexFunc(p.Actions, func(b Action) bool {
		return b.Name == a.Name && b.Mode == a.Mode && b.Queue == a.Queue
	})
	if at < 0 {
		at = len(p.Actions)
		p.Actions = append(p.Actions, a)
	}
	p.Actions[at].Sends = p.Actions[at].Sends || sends
	p.Actions[at].Takes = p.Actions[at].Takes || !sends
}

// appRecVersion returns the version of acknowledgement that a package holds.
func appRecVersion(spaces []string) string {
	switch {
	case slices.Contains(spaces, "http://www.kith.no/xmlstds/apprec/2012-02-15"):
		return "1.1"
	case slices.Contains(spaces, "http://www.kith.no/xmlstds/apprec/2004-11-21"):
		return "1.0"
	}
	return ""
}

// namespaces follows a package to its parts, and these to the namespaces of their documents.
func namespaces(root *xmlscan.Node, packageID string) []string {
	var out []string
	for _, one := range root.AllLocal("Packaging") {
		if one.Attribute("id") != packageID {
			continue
		}
		list := one.FindLocal("CompositeList")
		if list == nil {
			continue
		}
		for _, group := range list.Kids {
			for _, part := range group.AllLocal("Constituent") {
				out = append(out, partNamespaces(root, part.Attribute("idref"))...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func partNamespaces(root *xmlscan.Node, id string) []string {
	var out []string
	for _, part := range root.AllLocal("SimplePart") {
		if part.Attribute("id") == id {
			for _, space := range part.AllLocal("NamespaceSupported") {
				out = append(out, space.Text())
			}
		}
	}
	return out
}

// CodeList8279 is the OID of the code list of message functions, which gives the subjects (AMQP-21).
const CodeList8279 = "2.16.578.1.12.4.1.1.8279"

// Subjects gives the codes of code list 8279 that are known to be in use on the exchange, with their texts, from which
// an operator's list of allowed subjects starts; the code list itself grows.
func Subjects() map[string]string {
	return map[string]string{
		"APPREC":                                    "Applikasjonskvittering",
		"DIALOG_FORESPORSEL":                        "Forespørsel",
		"DIALOG_HELSEFAGLIG":                        "Helsefaglig dialog",
		"DIALOG_SVAR":                               "Svar på forespørsel",
		"DIALOG_INNBYGGER_AVTALEUTSENDING":          "Dialog med innbygger - avtaleutsending",
		"DIALOG_INNBYGGER_BEHANDLEROVERSIKT":        "Dialog med innbygger - behandleroversikt",
		"DIALOG_INNBYGGER_DIGITALBRUKER":            "Dialog med innbygger - digital bruker",
		"DIALOG_INNBYGGER_EKONSULTASJON":            "Dialog med innbygger - eKonsultasjon",
		"DIALOG_INNBYGGER_EKONTAKT":                 "Dialog med innbygger - eKontakt",
		"DIALOG_INNBYGGER_FINN_DOKUMENTER":          "Dialog med innbygger - finn dokumenter",
		"DIALOG_INNBYGGER_HELSEREGISTER":            "Dialog med innbygger - helseregister",
		"DIALOG_INNBYGGER_HENT_DOKUMENTER":          "Dialog med innbygger - hent dokumenter",
		"DIALOG_INNBYGGER_HL7_DOKUMENTNOTIFIKASJON": "Dialog med innbygger - dokumentnotifikasjon",
		"DIALOG_INNBYGGER_HREG_MELDE_FEIL":          "Dialog med innbygger - melde feil",
		"DIALOG_INNBYGGER_KOORDINATOR":              "Dialog med innbygger - koordinator",
		"DIALOG_INNBYGGER_OPPGAVE":                  "Dialog med innbygger - oppgave",
		"DIALOG_INNBYGGER_RESEPTFORNYELSE":          "Dialog med innbygger - reseptfornyelse",
		"DIALOG_INNBYGGER_TEST":                     "Dialog med innbygger - test",
		"DIALOG_INNBYGGER_TIMEONSKE":                "Dialog med innbygger - timeønske",
		"DIALOG_INNBYGGER_TIMEONSKEUNGDOM":          "Dialog med innbygger - timeønske ungdom",
		"DIALOG_INNBYGGER_TIMER":                    "Dialog med innbygger - timer",
		"DIALOG_INNBYGGER_TIMERESERVASJON":          "Dialog med innbygger - timereservasjon",
		"DIALOG_INNBYGGER_TJENESTEOVERSIKT":         "Dialog med innbygger - tjenesteoversikt",
		"NOTIFIKASJON_INNBYGGER_TIME":               "Notifikasjon til innbygger - time",
	}
}

// SubjectCodes lists the codes of Subjects in order.
func SubjectCodes() []string { return slices.Sorted(maps.Keys(Subjects())) }
