package web

import (
	"strings"

	"schakel/registry/token"
	"schakel/store"
)

// tokenExample is a command that asks an access token. The secret is not in it:
// curl asks for it, or the shell has it in a variable.
func tokenExample(client store.Client, address string) string {
	scope := "  --data-urlencode " + quoted("scope="+strings.Join(client.Scopes, " ")) + " \\\n"
	switch client.AuthMethod {
	case token.PrivateKeyJWT:
		return "curl --data grant_type=client_credentials \\\n" + scope +
			"  --data client_assertion_type=urn:ietf:params:oauth:client-assertion-type:jwt-bearer \\\n" +
			"  --data-urlencode \"client_assertion=$ASSERTION\" \\\n  " + quoted(address)
	case token.ClientSecretBasic:
		return "curl --user " + quoted(client.ID) + " \\\n  --data grant_type=client_credentials \\\n" + scope + "  " + quoted(address)
	}
	return "curl --data grant_type=client_credentials \\\n" + scope + "  --data client_id=" + quoted(client.ID) +
		" \\\n  --data-urlencode \"client_secret=$SECRET\" \\\n  " + quoted(address)
}

// publishExample is a command that publishes an event the client may publish.
func publishExample(client store.Client, address string) string {
	eventType, source := "nl.example.student.enrolled", "urn:example:source"
	if len(client.PublishTypes) > 0 {
		eventType = filled(client.PublishTypes[0])
	}
	if len(client.PublishSources) > 0 {
		source = filled(client.PublishSources[0])
	}
	event := `{"specversion":"1.0","id":"'"$(uuidgen)"'","source":"` + inShell(source) + `","type":"` + inShell(eventType) +
		`","datacontenttype":"application/json","data":{}}`
	return "curl --oauth2-bearer \"$TOKEN\" \\\n  --header \"Idempotency-Key: \\\"$(uuidgen --random)\\\"\" \\\n" +
		"  --header 'Content-Type: application/cloudevents+json' \\\n  --data '" + event + "' \\\n  " + quoted(address)
}

// filled makes one value of a pattern.
func filled(pattern string) string {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return prefix + "example"
	}
	return pattern
}

// quoted puts a word between quotes that a shell leaves as it is.
func quoted(word string) string { return "'" + inShell(word) + "'" }

// inShell writes text inside single quotes: what people typed stays one word.
func inShell(text string) string { return strings.ReplaceAll(text, "'", `'\''`) }
