package contracts

import (
	"context"
	"strings"

	"schakel/registry"
	"schakel/registry/contracts/contract"
)

// judgeSpec adds what the profile says of the version of the specification that a
// document follows: OpenAPI 3.2 and AsyncAPI 3.1 are asked for (EDU-21, OPEN-10).
func (c *Contracts) judgeSpec(ctx context.Context, doc *contract.Document, findings []contract.Finding) ([]contract.Finding, error) {
	state, err := c.profile.InForce(ctx)
	if err != nil {
		return nil, err
	}
	if state.SpecVersions == registry.PolicyAccept || specAsked(doc) {
		return findings, nil
	}
	found := contract.Finding{
		Severity: contract.SeverityWarning, Code: "spec-version", Pointer: "/" + string(doc.Kind),
		Detail: "The document follows version " + doc.SpecVersion + "; this chain asks for OpenAPI 3.2 and AsyncAPI 3.1 (EDU-21).",
		Remedy: "Convert the document, or ask the administrator to take other versions.",
	}
	if state.SpecVersions == registry.PolicyRefuse {
		found.Severity = contract.SeverityError
	}
	found.Line, found.Column = doc.Locate(found.Pointer)
	return append([]contract.Finding{found}, findings...), nil
}

func specAsked(doc *contract.Document) bool {
	if doc.Kind == contract.OpenAPI {
		return strings.HasPrefix(doc.SpecVersion, "3.2.")
	}
	return strings.HasPrefix(doc.SpecVersion, "3.1.")
}
