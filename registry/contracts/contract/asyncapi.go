package contract

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"schakel/registry/jsonpointer"
	"schakel/templates/i18n"
)

// asyncAPI holds what the rules on one AsyncAPI document share.
type asyncAPI struct {
	*report
	root map[string]any
}

func checkAsyncAPI(r *report, root map[string]any, release string) {
	a := &asyncAPI{report: r, root: root}
	a.objects(release)
	if release == "2.6" {
		a.checkTwo()
		return
	}
	channels := child(root, "channels")
	for _, name := range sortedKeys(channels) {
		at := top().to("channels", name)
		if channel, ok := channels[name].(map[string]any); ok {
			a.channelParameters(channel, member(channel, "address"), at)
			a.channelServers(channel, at)
		}
	}
	operations := child(root, "operations")
	for _, name := range sortedKeys(operations) {
		at := top().to("operations", name)
		operation, ok := operations[name].(map[string]any)
		if !ok {
			continue
		}
		a.ofChannel(operation, at)
		if reply := child(operation, "reply"); reply != nil {
			a.ofChannel(reply, at.to("reply"))
		}
	}
	a.unusedChannels(channels, operations)
}

// channelParameters holds the parameters of a channel against the names in its address.
func (a *asyncAPI) channelParameters(channel map[string]any, address string, at *place) {
	if _, isReference := channel["$ref"]; isReference {
		return
	}
	used, declared := templateNames(address), child(channel, "parameters")
	for _, name := range used {
		if _, ok := declared[name]; !ok {
			a.error("channel-parameter-undeclared", at, i18n.M("findings.channel-parameter-undeclared", shorten(name, 80)),
				"findings.channel-parameter-undeclared-remedy")
		}
	}
	for _, name := range sortedKeys(declared) {
		if !slices.Contains(used, name) && !strings.HasPrefix(name, "x-") {
			a.warn("channel-parameter-unused", at.to("parameters", name), i18n.M("findings.channel-parameter-unused", shorten(name, 80)),
				"findings.address-braces-remedy")
		}
	}
}

func (a *asyncAPI) channelServers(channel map[string]any, at *place) {
	for i, value := range items(channel, "servers") {
		object, _ := value.(map[string]any)
		ref, ok := object["$ref"].(string)
		if !ok || !strings.HasPrefix(ref, "#") {
			continue
		}
		if len(underRoot(ref, "servers")) != 1 {
			a.error("channel-server", at.to("servers", fmt.Sprint(i)), i18n.M("findings.channel-server-reference", shorten(ref, 120)),
				"findings.channel-server-reference-remedy")
		}
	}
}

// ofChannel checks that an operation, or a reply, has a channel of this document and only messages of that channel.
func (a *asyncAPI) ofChannel(owner map[string]any, at *place) {
	ref, ok := child(owner, "channel")["$ref"].(string)
	if !ok || !strings.HasPrefix(ref, "#") {
		return // absent in a reply, or outside this document
	}
	channel := underRoot(ref, "channels")
	if len(channel) != 1 {
		a.error("operation-channel", at.to("channel"), i18n.M("findings.operation-channel", shorten(ref, 120)),
			"findings.operation-channel-remedy")
		return
	}
	if _, ok := child(a.root, "channels")[channel[0]]; !ok {
		return // the reference itself is reported
	}
	for i, value := range items(owner, "messages") {
		object, _ := value.(map[string]any)
		message, ok := object["$ref"].(string)
		if !ok || !strings.HasPrefix(message, "#") || a.belongs(message, channel[0]) {
			continue
		}
		a.error("message-not-of-channel", at.to("messages", fmt.Sprint(i)),
			i18n.M("findings.message-not-of-channel", shorten(message, 120), shorten(channel[0], 80)),
			i18n.M("findings.message-not-of-channel-remedy", jsonpointer.Join("channels", shorten(channel[0], 80))))
	}
}

// belongs reports whether a reference is to a message of a channel, directly or by way of the channel it refers to.
func (a *asyncAPI) belongs(ref, channel string) bool {
	way := underRoot(ref, "channels")
	if len(way) == 3 && way[0] == channel && way[1] == "messages" {
		return true
	}
	_, at, how := a.refs.follow(child(a.root, "channels")[channel], jsonpointer.Join("channels", channel))
	if how != found {
		return how == outside
	}
	_, fragment, _ := strings.Cut(ref, "#")
	rest, ok := strings.CutPrefix(decodeFragment(fragment), at+"/messages/")
	return ok && rest != "" && !strings.Contains(rest, "/")
}

// underRoot gives what follows #/member/ in a reference, as tokens; nil for other references.
func underRoot(ref, key string) []string {
	fragment, ok := strings.CutPrefix(ref, "#")
	list, valid := jsonpointer.Tokens(decodeFragment(fragment))
	if !ok || !valid || len(list) < 2 || list[0] != key {
		return nil
	}
	return list[1:]
}

// mostTraitDepth bounds how deep a trait is merged; deeper values replace each other whole.
const mostTraitDepth = 20

// MergeTrait gives what stands in an object of AsyncAPI over which another is laid, as a JSON Merge Patch (RFC 7396): objects
// in both are merged, null takes away, anything else replaces. A value that is or has a reference is replaced whole, since what
// it refers to is not known here. Neither argument is changed.
func MergeTrait(under, over map[string]any) map[string]any { return mergeTrait(under, over, 0) }

func mergeTrait(under, over map[string]any, depth int) map[string]any {
	merged := maps.Clone(under)
	if merged == nil {
		merged = map[string]any{}
	}
	for key, value := range over {
		if value == nil {
			delete(merged, key)
			continue
		}
		below, is1 := merged[key].(map[string]any)
		above, is2 := value.(map[string]any)
		if is1 && is2 && below["$ref"] == nil && above["$ref"] == nil && depth < mostTraitDepth {
			value = mergeTrait(below, above, depth+1)
		}
		merged[key] = value
	}
	return merged
}

// checkTwo applies the rules of AsyncAPI 2.6, where operations stand in their channel and servers go by name.
func (a *asyncAPI) checkTwo() {
	operations, messages := map[string]*place{}, map[string]*place{}
	channels := child(a.root, "channels")
	for _, name := range sortedKeys(channels) {
		channel, ok := channels[name].(map[string]any)
		if !ok {
			continue
		}
		at := top().to("channels", name)
		a.channelParameters(channel, name, at)
		a.serverNames(channel, at)
		for _, action := range []string{"publish", "subscribe"} {
			operation := child(channel, action)
			if operation == nil {
				continue
			}
			a.unique(operations, operation, "operationId", "operation-id-duplicate", at.to(action))
			a.security(operation, at.to(action))
			for _, m := range messagesOf(operation["message"], at.to(action, "message")) {
				a.messageID(messages, m)
			}
		}
	}
	servers := child(a.root, "servers")
	for _, name := range sortedKeys(servers) {
		if server, ok := servers[name].(map[string]any); ok {
			a.security(server, top().to("servers", name))
		}
	}
}

// messageID reports an id that two messages have; one message may be used many times.
func (a *asyncAPI) messageID(seen map[string]*place, m located) {
	object, at := a.refs.object(m.value, m.at)
	id := member(object, "messageId")
	if first := seen[id]; id != "" && (first == nil || first.String() != at.String()) {
		a.unique(seen, object, "messageId", "message-id-duplicate", at)
	}
}

func (a *asyncAPI) unique(seen map[string]*place, owner map[string]any, key, code string, at *place) {
	id, ok := owner[key].(string)
	if !ok {
		return
	}
	if other, twice := seen[id]; twice {
		a.error(code, at.to(key), i18n.M("findings.id-duplicate", key, shorten(id, 100), shorten(other.String(), 200)), "findings.id-duplicate-remedy")
		return
	}
	seen[id] = at
}

func (a *asyncAPI) serverNames(channel map[string]any, at *place) {
	servers := child(a.root, "servers")
	for i, value := range items(channel, "servers") {
		name, ok := value.(string)
		if _, known := servers[name]; ok && !known {
			a.error("channel-server", at.to("servers", fmt.Sprint(i)), i18n.M("findings.channel-server", shorten(name, 80)),
				"findings.channel-server-remedy")
		}
	}
}

func (a *asyncAPI) security(owner map[string]any, at *place) {
	schemes := child(child(a.root, "components"), "securitySchemes")
	for i, value := range items(owner, "security") {
		requirement, _ := value.(map[string]any)
		for _, name := range sortedKeys(requirement) {
			where := at.to("security", fmt.Sprint(i), name)
			scheme, _ := a.refs.object(schemes[name], nil)
			checkScopes(a.report, scheme, requirement[name], where, false)
			if _, ok := schemes[name]; !ok && !strings.HasPrefix(name, "$") {
				a.error("security-undefined", where, i18n.M("findings.security-undefined", shorten(name, 80)),
					"findings.security-undefined-remedy")
			}
		}
	}
}

type located struct {
	value any
	at    *place
}

// messagesOf gives the one message of a 2.6 operation, or those of its oneOf.
func messagesOf(value any, at *place) []located {
	object, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	list, ok := object["oneOf"].([]any)
	if !ok {
		return []located{{value, at}}
	}
	var messages []located
	for i, item := range list {
		messages = append(messages, located{item, at.to("oneOf", fmt.Sprint(i))})
	}
	return messages
}
