package partners

import (
	"context"
	"errors"
	"mime"
	"strings"

	"schakel/registry"
	"schakel/registry/contracts/contract"
	"schakel/registry/jsonpointer"
	"schakel/store"
)

// Bounds of batches to an endpoint (EDU-11).
const (
	maxBatchEvents      = 1000
	minBatchBytes       = 65_538 // room for an event that every party must take (CE-31)
	mostBatchBytes      = 16 << 20
	maxBatchWaitSeconds = 60
)

// batchType is the media type of a batch of events (CE-56).
const batchType = "application/cloudevents-batch+json"

// checkSending judges when and in what portions a webhook is sent to.
func (e *Endpoints) checkSending(in EndpointInput, wrong registry.Problems) {
	if in.Windows != "" {
		if e.cfg.CheckWindows == nil {
			wrong.Add("windows", "Windows cannot be used here.")
		} else if err := e.cfg.CheckWindows(in.Windows); err != nil {
			wrong.Add("windows", registry.AsSentence(err.Error()))
		}
	}
	if in.BatchEvents == 0 {
		return
	}
	registry.CheckBetween(wrong, "batchEvents", in.BatchEvents, 2, maxBatchEvents)
	registry.CheckBetween(wrong, "batchWaitSeconds", in.BatchWaitSeconds, 0, maxBatchWaitSeconds)
	if in.BatchBytes != 0 {
		registry.CheckBetween(wrong, "batchBytes", in.BatchBytes, minBatchBytes, mostBatchBytes)
	}
	if in.ContractID == "" && !in.BatchStated {
		wrong.Add("batchStated", "Batches go only to a receiver that asks for them (CE-56): name the contract of your API that takes them, or state that your receiver does.")
	}
}

// checkContract holds an endpoint against the contract of the receiver's own API that it names: it must be one its owner
// may see, and batches must be among what it takes. The latest version becomes the one that is so now.
func (e *Endpoints) checkContract(ctx context.Context, owner store.Partner, in *EndpointInput) error {
	if in.ContractID == "" {
		return nil
	}
	version, content, err := e.contracts.Document(ctx, registry.ReaderOf(owner), in.ContractID, in.ContractVersion)
	refused, _ := errors.AsType[*registry.Error](err)
	if refused != nil && refused.Code == registry.CodeNotFound || err == nil && version.PublishedAt.IsZero() {
		return registry.Invalid(registry.Problems{"contractId": "There is no published version " + in.ContractVersion + " of a contract " + in.ContractID + " in the register."})
	}
	if err != nil {
		return err
	}
	in.ContractVersion = version.Version
	doc, _, err := contract.Parse(content, contract.Limits{})
	switch {
	case err != nil || doc == nil || doc.Kind != contract.OpenAPI:
		return registry.Invalid(registry.Problems{"contractId": "Name an OpenAPI contract: it tells how your API is called."})
	case in.BatchEvents > 0 && !takesBatches(doc):
		return registry.Invalid(registry.Problems{"batchEvents": "No POST operation or webhook of " + in.ContractID + " " + in.ContractVersion + " takes " + batchType + ". Leave batches out, or publish a version that takes them."})
	}
	return nil
}

// takesBatches reports whether a POST operation or webhook of an OpenAPI document takes batches of events.
func takesBatches(doc *contract.Document) bool {
	root, _ := doc.Root.(map[string]any)
	for _, part := range []string{"webhooks", "paths"} {
		items, _ := root[part].(map[string]any)
		for _, value := range items {
			item := followed(root, value)
			operation := followed(root, item["post"])
			body := followed(root, operation["requestBody"])
			content, _ := body["content"].(map[string]any)
			for media := range content {
				if kind, _, err := mime.ParseMediaType(media); err == nil && kind == batchType {
					return true
				}
			}
		}
	}
	return false
}

// followed is an object of a document, wherever in it a reference leads; nil when there is none.
func followed(root map[string]any, value any) map[string]any {
	for range 10 {
		object, _ := value.(map[string]any)
		ref, ok := object["$ref"].(string)
		if !ok {
			return object
		}
		pointer, local := strings.CutPrefix(ref, "#")
		if !local {
			return nil
		}
		value, _ = jsonpointer.Lookup(root, pointer)
	}
	return nil
}

// applySending writes checked input into an endpoint.
func applySending(to *store.Endpoint, in EndpointInput) {
	to.Windows, to.ContractID, to.ContractVersion = in.Windows, in.ContractID, in.ContractVersion
	to.BatchEvents, to.BatchBytes, to.BatchWaitMS, to.BatchStated = 0, 0, 0, false
	if in.BatchEvents > 0 {
		to.BatchEvents, to.BatchBytes, to.BatchWaitMS = in.BatchEvents, in.BatchBytes, in.BatchWaitSeconds*1000
		to.BatchStated = in.ContractID == "" // with a contract nobody need be believed
	}
}
