package compare

import (
	"strings"

	"schakel/registry/jsonpointer"

	"schakel/registry/contracts/contract"
)

// message is a message of a channel, traits applied.
type message struct {
	key, at  string
	object   map[string]any
	types    []string
	sent     bool // the application sends it, the others read it
	received bool // the application receives it, the others send it
}

type channel struct {
	key, at, address string
	object           map[string]any
	messages         map[string]*message
}

type asyncOperation struct {
	key, at, action string
	object          map[string]any
	channel         string // its key
	reply           map[string]any
}

// async is an AsyncAPI document in one shape for all versions.
type async struct {
	c          *source
	channels   map[string]*channel
	operations map[string]asyncOperation
	types      map[string][]string // by the pointer of the message
	events     []contract.EventType
	fallback   string // defaultContentType
}

func readAsync(c *source, d *contract.Document) *async {
	a := &async{c: c, channels: map[string]*channel{}, operations: map[string]asyncOperation{}, types: map[string][]string{}, fallback: text(c.root, "defaultContentType")}
	a.events = d.EventTypes()
	for _, e := range a.events {
		a.types[e.Pointer] = append(a.types[e.Pointer], e.Type)
	}
	channels := child(c.root, "channels")
	for _, key := range sortedKeys(channels) {
		object, at := c.object(channels[key], jsonpointer.Join("channels", key))
		if object == nil {
			continue
		}
		found := &channel{key: key, at: at, object: object, address: text(object, "address"), messages: map[string]*message{}}
		a.channels[key] = found
		if c.release == "2.6" {
			found.address = key
			a.readTwo(found)
			continue
		}
		a.addMessages(found, child(object, "messages"), at+"/messages")
	}
	a.readOperations()
	a.readUnused()
	return a
}

func (a *async) addMessages(to *channel, list map[string]any, at string) {
	for _, key := range sortedKeys(list) {
		object, place := a.c.object(list[key], at+jsonpointer.Join(key))
		if object != nil {
			to.messages[key] = a.message(key, object, place)
		}
	}
}

func (a *async) message(key string, object map[string]any, at string) *message {
	return &message{key: key, at: at, object: a.c.withTraits(object), types: distinct(a.types[at])}
}

// readOperations reads the operations of 3.x and the directions that they give to messages.
func (a *async) readOperations() {
	operations := child(a.c.root, "operations")
	for _, key := range sortedKeys(operations) {
		object, at := a.c.object(operations[key], jsonpointer.Join("operations", key))
		if object == nil {
			continue
		}
		object = a.c.withTraits(object)
		made := asyncOperation{key: key, at: at, action: text(object, "action"), object: object, channel: a.channelOf(object)}
		a.direct(made.channel, items(object, "messages"), made.action)
		if made.reply, _ = a.c.object(object["reply"], at+"/reply"); made.reply != nil {
			a.direct(a.channelOf(made.reply), items(made.reply, "messages"), opposite(made.action))
		}
		a.operations[key] = made
	}
}

func opposite(action string) string {
	if action == "send" {
		return "receive"
	}
	return "send"
}

// channelOf gives the key of the channel that an operation or reply refers to.
func (a *async) channelOf(owner map[string]any) string {
	ref := text(child(owner, "channel"), "$ref")
	pointer, _ := localPointer(ref)
	list, _ := jsonpointer.Tokens(pointer)
	if len(list) == 2 && list[0] == "channels" {
		return list[1]
	}
	for key, found := range a.channels {
		if pointer != "" && found.at == pointer {
			return key
		}
	}
	return ""
}

// direct marks the messages that an operation names, all of the channel when it names none.
func (a *async) direct(key string, named []any, action string) {
	in := a.channels[key]
	if in == nil {
		return
	}
	wanted := map[string]bool{}
	for _, value := range named {
		object, _ := value.(map[string]any)
		if pointer, local := localPointer(text(object, "$ref")); local {
			wanted[pointer[strings.LastIndexByte(pointer, '/')+1:]] = true
			_, at := a.c.object(value, "")
			wanted[at] = true
		}
	}
	for name, m := range in.messages {
		if len(wanted) == 0 || wanted[strings.TrimPrefix(jsonpointer.Join(name), "/")] || wanted[m.at] {
			m.sent = m.sent || action == "send"
			m.received = m.received || action == "receive"
		}
	}
}

// readUnused takes messages that stand under components only: they are defined for others to use.
func (a *async) readUnused() {
	used := map[string]bool{}
	for _, c := range a.channels {
		for _, m := range c.messages {
			used[m.at] = true
		}
	}
	rest := &channel{messages: map[string]*message{}, at: "/components"}
	list := child(child(a.c.root, "components"), "messages")
	for _, key := range sortedKeys(list) {
		object, at := a.c.object(list[key], jsonpointer.Join("components", "messages", key))
		if object != nil && !used[at] {
			rest.messages[key] = a.message(key, object, at)
		}
	}
	if len(rest.messages) > 0 {
		a.channels[""] = rest
	}
}

// readTwo reads the operations and messages of a 2.6 channel: what others subscribe to the application sends.
func (a *async) readTwo(c *channel) {
	for _, way := range []struct{ key, action string }{{"subscribe", "send"}, {"publish", "receive"}} {
		object := child(c.object, way.key)
		if object == nil {
			continue
		}
		at := c.at + "/" + way.key
		object = a.c.withTraits(object)
		key := way.key + " " + c.key
		a.operations[key] = asyncOperation{key: key, at: at, action: way.action, object: object, channel: c.key}
		for i, value := range oneOrMore(object["message"]) {
			place := at + "/message"
			if len(items(child(object, "message"), "oneOf")) > 0 {
				place += "/oneOf/" + itoa(i)
			}
			a.addTwo(c, value, place, way.key, way.action)
		}
	}
}

func (a *async) addTwo(c *channel, value any, place, way, action string) {
	object, at := a.c.object(value, place)
	if object == nil {
		return
	}
	list, _ := jsonpointer.Tokens(at)
	key := way
	if len(list) == 3 && list[0] == "components" {
		key = list[2]
	} else if name := text(object, "messageId"); name != "" {
		key = name
	} else if name := text(object, "name"); name != "" {
		key = name
	}
	for base, n := key, 2; c.messages[key] != nil && c.messages[key].at != at; n++ {
		key = base + " " + itoa(n)
	}
	m := c.messages[key]
	if m == nil {
		m = a.message(key, object, at)
		c.messages[key] = m
	}
	m.sent, m.received = m.sent || action == "send", m.received || action == "receive"
}

func oneOrMore(value any) []any {
	object, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	if list := items(object, "oneOf"); len(list) > 0 {
		return list
	}
	return []any{value}
}
