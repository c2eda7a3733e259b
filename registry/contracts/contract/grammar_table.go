package contract

// openAPIGrammar is the shape of an OpenAPI 3.x document.
func openAPIGrammar() grammar {
	pathItem := map[string]string{"additionalOperations": "{}" + kindOperation, "parameters": "[]" + kindParameter, "servers": "[]" + kindServer}
	for _, method := range methods() {
		pathItem[method] = kindOperation
	}
	content := "{}" + kindMediaType
	return grammar{
		"root": {"paths": "paths", "webhooks": "{}" + kindPathItem, "components": "components", "servers": "[]" + kindServer},
		"components": {
			"schemas": "{}" + kindSchema, "responses": "{}" + kindResponse, "parameters": "{}" + kindParameter, "examples": "{}example",
			"requestBodies": "{}requestBody", "headers": "{}" + kindHeader, "securitySchemes": "{}securityScheme", "links": "{}" + kindLink,
			"callbacks": "{}" + kindCallback, "pathItems": "{}" + kindPathItem, "mediaTypes": content,
		},
		"paths":      {"*": kindPathItem},
		kindPathItem: pathItem,
		kindOperation: {
			"parameters": "[]" + kindParameter, "requestBody": "requestBody", "responses": "{}" + kindResponse,
			"callbacks": "{}" + kindCallback, "servers": "[]" + kindServer,
		},
		kindCallback:  {"*": kindPathItem},
		kindParameter: {"schema": kindSchema, "content": content, "examples": "{}example"},
		kindHeader:    {"schema": kindSchema, "content": content, "examples": "{}example"},
		"requestBody": {"content": content},
		kindResponse:  {"headers": "{}" + kindHeader, "content": content, "links": "{}" + kindLink},
		kindMediaType: {
			"schema": kindSchema, "itemSchema": kindSchema, "examples": "{}example", "encoding": "{}encoding",
			"itemEncoding": "encoding", "prefixEncoding": "[]encoding",
		},
		"encoding": {"headers": "{}" + kindHeader},
		kindLink:   {"server": kindServer},
		kindSchema: schemaMembers(),
	}
}

// asyncAPIGrammar is the shape of an AsyncAPI 2.6 or 3.x document. A schema in another language, such as Avro, is of the
// kind payload and not visited further; asyncAPI.payload looks at it.
func asyncAPIGrammar() grammar {
	message := map[string]string{
		"headers": "payload", "payload": "payload", "correlationId": kindCorrelated, "traits": "[]messageTrait", "oneOf": "[]" + kindMessage,
	}
	return grammar{
		"root": {
			"channels": "{}" + kindChannel, "operations": "{}" + kindOperation, "servers": "{}" + kindServer, "components": "components", "info": "info",
		},
		"components": {
			"schemas": "{}payload", "servers": "{}" + kindServer, "channels": "{}" + kindChannel, "operations": "{}" + kindOperation,
			"messages": "{}" + kindMessage, "parameters": "{}" + kindParameter, "correlationIds": "{}" + kindCorrelated,
			"replies": "{}reply", "replyAddresses": "{}replyAddress", "operationTraits": "{}operationTrait", "messageTraits": "{}messageTrait",
			"securitySchemes": "{}securityScheme", "serverVariables": "{}serverVariable", "tags": "{}tag", "externalDocs": "{}externalDocs",
			"serverBindings": "{}serverBinding", "channelBindings": "{}channelBinding", "operationBindings": "{}operationBinding",
			"messageBindings": "{}messageBinding",
		},
		kindChannel: {
			"messages": "{}" + kindMessage, "parameters": "{}" + kindParameter, "publish": kindOperation, "subscribe": kindOperation,
		},
		kindOperation: {
			"message": kindMessage, "reply": "reply", "traits": "[]operationTrait", "security": "[]securityScheme",
		},
		"operationTrait": {"security": "[]securityScheme"},
		"securityScheme": {},
		kindMessage:      message,
		"messageTrait":   message,
		"reply":          {"address": "replyAddress"},
		kindParameter:    {"schema": kindSchema},
		kindSchema:       schemaMembers(),
		kindServer:       {"variables": "{}serverVariable", "security": "[]securityScheme"},
		"info":           {},
	}
}

// componentOf names the section of components that holds objects of a kind.
func componentOf(kind string) string {
	switch kind {
	case kindResponse, kindParameter, kindSchema, kindHeader, kindLink, kindCallback, kindPathItem, kindMediaType, kindServer,
		kindChannel, kindOperation, kindMessage, kindCorrelated, "example", "securityScheme", "operationTrait", "messageTrait",
		"serverVariable", "tag":
		return kind + "s"
	case "requestBody":
		return "requestBodies"
	case "reply":
		return "replies"
	case "replyAddress":
		return "replyAddresses"
	case "payload":
		return "schemas"
	}
	return ""
}
