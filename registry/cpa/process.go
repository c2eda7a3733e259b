package cpa

import (
	"slices"
	"strings"
)

// appRecAction is the action of an acknowledgement, in whatever case it is written.
const appRecAction = "APPREC"

// process reads a CollaborationRole. The subject of its messages is the name of the process in capitals: that is how
// the exchange ties a process to code list 8279.
func (r *reader) process(root, role *node, channels map[string]channel) Process {
	spec, binding := role.find("ProcessSpecification"), role.find("ServiceBinding")
	p := Process{
		Name: spec.get("name"), Version: spec.get("version"),
		Role: role.find("Role").get("name"), Service: binding.find("Service").value(),
	}
	p.Subject = strings.ToUpper(p.Name)
	for what, value := range map[string]string{"name": p.Name, "role": p.Role, "service": p.Service} {
		if value == "" {
			r.note(role.line, "a process has no %s", what)
		}
	}
	for _, n := range binding.all("CanSend") {
		p.add(r.action(root, n, channels), true)
	}
	for _, n := range binding.all("CanReceive") {
		p.add(r.action(root, n, channels), false)
	}
	return p
}

// action reads the ThisPartyActionBinding in a CanSend or CanReceive; the name is empty when it is no use.
func (r *reader) action(root, n *node, channels map[string]channel) Action {
	binding := n.find("ThisPartyActionBinding")
	a := Action{Name: binding.get("action")}
	if a.Name == "" {
		r.note(n.line, "%s has no action", n.name.Local)
		return a
	}
	characteristics := binding.find("BusinessTransactionCharacteristics")
	a.Receipt = characteristics.get("isNonRepudiationReceiptRequired") == "true"
	a.Namespaces = namespaces(root, binding.get("packageId"))
	for _, ref := range binding.all("ChannelId") {
		if c, ok := channels[ref.value()]; ok {
			a.Mode, a.Queue = c.mode, c.queue
			return a
		}
	}
	r.note(binding.line, "the action %s has no channel over AMQP", brief(a.Name))
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

// appRecVersion tells the version of acknowledgement that a package holds.
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
func namespaces(root *node, packageID string) []string {
	var out []string
	for _, one := range root.all("Packaging") {
		if one.get("id") != packageID {
			continue
		}
		list := one.find("CompositeList")
		if list == nil {
			continue
		}
		for _, group := range list.kids {
			for _, part := range group.all("Constituent") {
				out = append(out, partNamespaces(root, part.get("idref"))...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func partNamespaces(root *node, id string) []string {
	var out []string
	for _, part := range root.all("SimplePart") {
		if part.get("id") == id {
			for _, space := range part.all("NamespaceSupported") {
				out = append(out, space.value())
			}
		}
	}
	return out
}
