package contract

import (
	"fmt"
	"strings"
)

// maxUnused bounds how many unused parts are named one by one.
const maxUnused = 10

// checkUnused reports components that nothing refers to. A document of components only is there for others to use.
func (d *Document) checkUnused(r *report, root map[string]any) {
	if root["paths"] == nil && root["webhooks"] == nil && root["channels"] == nil && root["operations"] == nil {
		return
	}
	used := d.usedParts(root)
	if used["*"] {
		return // names of their own can be referred to in more ways than are followed here
	}
	components := child(root, "components")
	count := 0
	for _, section := range sortedKeys(components) {
		if strings.HasPrefix(section, "x-") || section == "pathItems" || section == "messages" && d.Kind == AsyncAPI {
			continue
		}
		for _, name := range sortedKeys(child(components, section)) {
			part := child(child(components, section), name)
			if used[section+"/"+name] || section == "schemas" && part["allOf"] != nil { // a child of one with a discriminator
				continue
			}
			if count++; count <= maxUnused {
				r.add(SeverityInfo, "component-unused", top().to("components", section, name).String,
					fmt.Sprintf("Nothing in this document uses %q.", shorten(name, 80)), "Remove it, or leave it for others to refer to.")
			}
		}
	}
	if count > maxUnused {
		r.add(SeverityInfo, "component-unused", top().to("components").String, fmt.Sprintf("Nothing in this document uses %d more of its components.", count-maxUnused),
			"Remove them, or leave them for others to refer to.")
	}
}

// usedParts are the components that references, security requirements and discriminators name.
func (d *Document) usedParts(root map[string]any) map[string]bool {
	used := map[string]bool{}
	walkAnyOrder(root, func(object map[string]any) {
		for _, key := range []string{"$ref", "$dynamicRef"} {
			if ref, ok := object[key].(string); ok {
				if _, fragment, _ := strings.Cut(ref, "#"); fragment != "" {
					noteUse(used, "#"+fragment)
				}
			}
		}
		for _, name := range child(child(object, "discriminator"), "mapping") {
			if text, ok := name.(string); ok {
				used["schemas/"+text] = true
				noteUse(used, text)
			}
		}
		if id := member(object, "$id") + member(object, "$anchor") + member(object, "$dynamicAnchor"); id != "" {
			used["*"] = true
		}
		for _, value := range items(object, "security") {
			requirement, _ := value.(map[string]any)
			for name := range requirement {
				used["securitySchemes/"+name] = true
			}
		}
	})
	return used
}

func noteUse(used map[string]bool, ref string) {
	if list := underRoot(ref, "components"); len(list) >= 2 {
		used[list[0]+"/"+list[1]] = true
	}
}

// unusedChannels reports channels that no operation sends to or receives from, nor answers on. A document without
// operations is there for others to use.
func (a *asyncAPI) unusedChannels(channels, operations map[string]any) {
	if len(operations) == 0 {
		return
	}
	used := map[string]bool{}
	note := func(object map[string]any) {
		if ref, ok := object["$ref"].(string); ok {
			if list := underRoot(ref, "channels"); len(list) > 0 {
				used[list[0]] = true
			}
		}
	}
	walkAnyOrder(operations, note)
	walkAnyOrder(child(a.root, "components"), note)
	count := 0
	for _, name := range sortedKeys(channels) {
		if used[name] || strings.HasPrefix(name, "x-") {
			continue
		}
		if count++; count <= maxUnused {
			a.add(SeverityInfo, "channel-unused", top().to("channels", name).String,
				fmt.Sprintf("No operation uses the channel %q.", shorten(name, 80)), "Add an operation that sends to it or receives from it, or remove it.")
		}
	}
}
