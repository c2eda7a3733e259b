package compare

// openAPIServers compares the addresses where an API is offered.
func (p *pair) openAPIServers() {
	p.servers("the document", servers(p.old.root), "/servers", servers(p.new.root), "/servers")
}

// callServers compares addresses of an operation or path of its own.
func (p *pair) callServers(old, new call) {
	p.servers(new.subject, servers(old.operation), old.at+"/servers", servers(new.operation), new.at+"/servers")
	p.servers("path "+new.path, servers(old.item), old.pathAt+"/servers", servers(new.item), new.pathAt+"/servers")
}

func (p *pair) servers(subject string, before map[string]string, beforeAt string, after map[string]string, afterAt string) {
	for _, url := range unionKeys(before, after) {
		was, had := before[url]
		is, has := after[url]
		c := Change{Level: Info, Subjects: []string{subject}, Pointer: afterAt, Cause: afterAt}
		switch {
		case !has:
			c.Level, c.Code, c.Pointer, c.Removed = Warning, "server-removed", beforeAt, true
			c.Text, c.Why = "The server "+quote(url)+" was removed.", "Clients that use it must go to another one, if it is really gone."
		case !had:
			c.Code, c.Text, c.Why = "server-added", "The server "+quote(url)+" was added.", "Clients may use it."
		case was != is:
			c.Code, c.Text, c.Why = "server-changed", "The variables of the server "+quote(url)+" changed.", "Clients that fill them in should look whether their values still fit."
		default:
			continue
		}
		p.add(c)
	}
}

// servers gives the variables of each server by its address.
func servers(owner map[string]any) map[string]string {
	list := map[string]string{}
	for _, item := range items(owner, "servers") {
		object, _ := item.(map[string]any)
		if url := text(object, "url"); url != "" {
			list[url] = written(child(object, "variables"))
		}
	}
	return list
}
