package compare

import "schakel/registry/jsonpointer"

// openAPISchemes compares the security schemes themselves, for both kinds of document.
func (p *pair) openAPISchemes() {
	before, after := p.old.schemes(), p.new.schemes()
	for _, name := range sortedKeys(before) {
		if is, both := after[name]; both && before[name].object != nil && is.object != nil {
			p.scheme(name, before[name].object, is)
		}
	}
}

// scheme compares what a security scheme asks: another kind or place is another proof, other addresses are a move.
func (p *pair) scheme(name string, was map[string]any, is located) {
	c := Change{Side: SideConsumer, Subjects: []string{"security scheme " + name}, Cause: is.at}
	for _, key := range []string{"type", "in", "name", "scheme"} {
		if before, after := text(was, key), text(is.object, key); before != after {
			c.Level, c.Code, c.Pointer = Breaking, "security-scheme-changed", is.at+"/"+key
			c.Text = "The " + key + " changed from " + quote(before) + " to " + quote(after) + "."
			c.Why = "Clients that prove who they are the old way are refused."
			p.add(c)
		}
	}
	if before, after := text(was, "bearerFormat"), text(is.object, "bearerFormat"); before != after {
		c.Level, c.Code, c.Pointer = Warning, "security-scheme-changed", is.at+"/bearerFormat"
		c.Text = "The form of bearer tokens changed from " + quote(before) + " to " + quote(after) + "."
		c.Why = "Clients that read their tokens, or bring ones of their own, have to look."
		p.add(c)
	}
	for _, key := range []string{"openIdConnectUrl", "oauth2MetadataUrl"} {
		p.moved(c, key, text(was, key), text(is.object, key), is.at+"/"+key)
	}
	before, after := child(was, "flows"), child(is.object, "flows")
	for _, flow := range unionKeys(before, after) {
		p.flow(c, flow, child(before, flow), child(after, flow), is.at+"/flows"+jsonpointer.Join(flow))
	}
}

func (p *pair) moved(c Change, key, before, after, at string) {
	if before == after {
		return
	}
	c.Level, c.Code, c.Pointer = Warning, "security-address-changed", at
	c.Text = "The " + key + " changed from " + quote(before) + " to " + quote(after) + "."
	c.Why = "Clients get their tokens elsewhere; those that have the old address fixed must change it."
	p.add(c)
}

func (p *pair) flow(c Change, name string, was, is map[string]any, at string) {
	switch {
	case is == nil:
		c.Level, c.Code, c.Pointer, c.Text = Breaking, "security-flow-removed", at, "The flow "+quote(name)+" was removed."
		c.Why = "Clients that get their tokens this way no longer can."
		p.add(c)
		return
	case was == nil:
		c.Level, c.Code, c.Pointer, c.Text = Info, "security-flow-added", at, "The flow "+quote(name)+" was added."
		c.Why = "What was possible until now still is."
		p.add(c)
		return
	}
	for _, key := range []string{"authorizationUrl", "tokenUrl", "refreshUrl", "deviceAuthorizationUrl"} {
		p.moved(c, key, text(was, key), text(is, key), at+"/"+key)
	}
	before, after := scopes(was), scopes(is)
	for _, scope := range unionKeys(before, after) {
		_, had := before[scope]
		_, has := after[scope]
		c.Pointer, c.Removed = at+"/scopes", false
		switch {
		case had && !has:
			c.Level, c.Code, c.Text = Warning, "security-scope-removed", "The scope "+quote(scope)+" was removed from the flow "+quote(name)+"."
			c.Why = "Clients that still ask for it can be refused a token."
			p.add(c)
		case has && !had:
			c.Level, c.Code, c.Text = Info, "security-scope-added", "The scope "+quote(scope)+" was added to the flow "+quote(name)+"."
			c.Why = "Whether an operation asks for it is a change of its own."
			p.add(c)
		}
	}
}

// scopes gives the scopes of a flow; AsyncAPI 3 calls them availableScopes.
func scopes(flow map[string]any) map[string]any {
	if list := child(flow, "availableScopes"); list != nil {
		return list
	}
	return child(flow, "scopes")
}
