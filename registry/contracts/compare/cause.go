package compare

import (
	"strings"

	"schakel/registry/jsonpointer"
	"schakel/templates/i18n"
)

// causeName says in words what a cause points at.
func causeName(cause string) i18n.Message {
	list, _ := jsonpointer.Tokens(cause)
	switch {
	case len(list) == 0:
		return "changes.cause-document"
	case len(list) >= 3 && list[0] == "components":
		return sharedName(list[1], list[2])
	case len(list) >= 3 && list[0] == "paths":
		return i18n.M("changes.cause-operation", strings.ToUpper(list[2])+" "+list[1])
	case len(list) >= 4 && list[0] == "channels":
		return i18n.M("changes.cause-message", list[3], list[1])
	case len(list) >= 2:
		return partName(list[0], list[1])
	}
	return i18n.M("changes.cause-part", list[0])
}

// sharedName names a component.
func sharedName(kind, name string) i18n.Message {
	switch kind {
	case "schemas":
		return i18n.M("changes.cause-shared-schema", name)
	case "responses":
		return i18n.M("changes.cause-shared-response", name)
	case "parameters":
		return i18n.M("changes.cause-shared-parameter", name)
	case "headers":
		return i18n.M("changes.cause-shared-header", name)
	case "messages":
		return i18n.M("changes.cause-shared-message", name)
	case "requestBodies":
		return i18n.M("changes.cause-shared-request-body", name)
	case "securitySchemes":
		return i18n.M("changes.cause-shared-security-scheme", name)
	case "mediaTypes":
		return i18n.M("changes.cause-shared-media-type", name)
	case "pathItems":
		return i18n.M("changes.cause-shared-path-item", name)
	}
	return i18n.M("changes.cause-shared", strings.TrimSuffix(kind, "s"), name)
}

// partName names a part of a document that is no component.
func partName(kind, name string) i18n.Message {
	switch kind {
	case "channels":
		return i18n.M("changes.cause-channel", name)
	case "operations":
		return i18n.M("changes.cause-operation", name)
	case "servers":
		return i18n.M("changes.cause-server", name)
	case "webhooks":
		return i18n.M("changes.cause-webhook", name)
	case "paths":
		return i18n.M("changes.cause-path", name)
	}
	return i18n.M("changes.cause-other", strings.TrimSuffix(kind, "s"), name)
}

// causeOf gives the part of a document that a pointer lies in.
func causeOf(pointer string) string {
	list, ok := jsonpointer.Tokens(pointer)
	if !ok || len(list) == 0 {
		return pointer
	}
	size := 2
	switch {
	case list[0] == "components", list[0] == "paths", list[0] == "webhooks":
		size = 3
	case list[0] == "channels" && len(list) >= 4 && (list[2] == "messages"):
		size = 4
	case list[0] == "info", list[0] == "security":
		size = 1
	}
	return jsonpointer.Join(list[:min(size, len(list))]...)
}
