package contract

import (
	"fmt"
	"strings"
)

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
		a.error(code, at.to(key), fmt.Sprintf("The %s %q is also that of %s.", key, shorten(id, 100), shorten(other.String(), 200)), "Give each its own.")
		return
	}
	seen[id] = at
}

func (a *asyncAPI) serverNames(channel map[string]any, at *place) {
	servers := child(a.root, "servers")
	for i, value := range items(channel, "servers") {
		name, ok := value.(string)
		if _, known := servers[name]; ok && !known {
			a.error("channel-server", at.to("servers", fmt.Sprint(i)), fmt.Sprintf("The server %q is not declared.", shorten(name, 80)),
				"Declare it under servers, or correct the name.")
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
				a.error("security-undefined", where, fmt.Sprintf("The security scheme %q is not declared.", shorten(name, 80)),
					"Declare it under components/securitySchemes, or correct the name.")
			}
		}
	}
}

// located is a value with its pointer.
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
