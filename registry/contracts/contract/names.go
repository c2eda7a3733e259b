package contract

import (
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/message"
)

// badName is a member name that propertyNames does not allow. The validator reports these too, but shares the slice that
// holds their place with later faults, so that the place may be another; those are passed over and these are used.
type badName struct {
	name string
}

// KeywordPath implements jsonschema.ErrorKind.
func (badName) KeywordPath() []string { return []string{"propertyNames"} }

// LocalizedString implements jsonschema.ErrorKind.
func (b badName) LocalizedString(*message.Printer) string {
	return "name " + b.name + " is not allowed"
}

// nameVocabulary checks propertyNames once more, to report it at its own place.
func nameVocabulary() *jsonschema.Vocabulary {
	return &jsonschema.Vocabulary{
		URL: schemaBase + "names",
		Compile: func(ctx *jsonschema.CompilerContext, schema map[string]any) (jsonschema.SchemaExt, error) {
			if _, ok := schema["propertyNames"]; !ok {
				return nil, nil
			}
			return nameCheck{ctx.Enqueue([]string{"propertyNames"})}, nil
		},
	}
}

type nameCheck struct {
	names *jsonschema.Schema
}

// Validate implements jsonschema.SchemaExt.
func (c nameCheck) Validate(ctx *jsonschema.ValidatorContext, value any) {
	object, _ := value.(map[string]any)
	for name := range object {
		if err := c.names.Validate(name); err != nil {
			failed, _ := err.(*jsonschema.ValidationError)
			ctx.AddErrors([]*jsonschema.ValidationError{failed}, badName{name})
		}
	}
}
