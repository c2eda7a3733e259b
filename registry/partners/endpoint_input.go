package partners

import (
	"cmp"
	"context"
	"errors"
	"mime"
	"net/url"
	"slices"
	"strings"
	"time"

	"schakel/registry"
	"schakel/registry/contracts/contract"
	"schakel/registry/identity/token"
	"schakel/registry/jsonpointer"
	"schakel/store"
	"schakel/templates/i18n"
)

// Defaults of an endpoint.
const (
	DefaultConcurrency    = 16
	DefaultTimeoutSeconds = 30
)

// EndpointHost is the host and port events are sent to; empty when we send nothing.
func EndpointHost(e store.Endpoint) string { return hostOf(e.URL) }

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host
}

// TokenAuthMethods lists the ways we may prove who we are at the token endpoint of a partner.
func (e *Endpoints) TokenAuthMethods() []string {
	methods := []string{token.ClientSecretBasic, token.ClientSecretPost, token.PrivateKeyJWT, token.TLSClientAuth}
	if e.cfg.AllowOpenEndpoints {
		methods = append(methods, registry.TokenAuthNone)
	}
	return methods
}

func (in EndpointInput) clean() EndpointInput {
	in.Name = registry.CleanName(in.Name)
	in.URL, in.TokenURL = strings.TrimSpace(in.URL), strings.TrimSpace(in.TokenURL)
	in.Certificate, in.CertificateKey = strings.TrimSpace(in.Certificate), strings.TrimSpace(in.CertificateKey)
	in.TokenClientID, in.TokenScope = strings.TrimSpace(in.TokenClientID), strings.Join(strings.Fields(in.TokenScope), " ")
	in.Windows, in.ContractID, in.ContractVersion = strings.TrimSpace(in.Windows), strings.TrimSpace(in.ContractID), strings.TrimSpace(in.ContractVersion)
	if in.ContractID == "" {
		in.ContractVersion = ""
	} else if in.ContractVersion == "" {
		in.ContractVersion = registry.Latest
	}
	if in.ContentMode == "" {
		in.ContentMode = registry.ModeStructured
	}
	if in.MaxConcurrency == 0 {
		in.MaxConcurrency = DefaultConcurrency
	}
	if in.TimeoutSeconds == 0 {
		in.TimeoutSeconds = DefaultTimeoutSeconds
	}
	return in
}

// Wrong returns the problems by field of input for an endpoint that is now as old, before anything is looked up; a
// zero old is a new one. Create and Update answer the same.
func (e *Endpoints) Wrong(in EndpointInput, old store.Endpoint) map[string]i18n.Message {
	in = in.clean()
	if old.ID != "" {
		in.Kind = old.Kind
	}
	return e.check(in, old)
}

// LongestTimeout is the longest time-out that an endpoint may have. What sends requests to endpoints must allow for it.
const LongestTimeout = time.Minute

// check judges input for an endpoint that is now as old; a zero old is a new one.
func (e *Endpoints) check(in EndpointInput, old store.Endpoint) registry.Problems {
	wrong := registry.Problems{}
	wrong.Add("name", registry.CheckName(in.Name, 2, 120))
	wrong.AddIf(old.ID == "" && !slices.Contains(e.cfg.ServedKinds, in.Kind), "kind", "partners.endpoint.kind-bad")
	registry.CheckBetween(wrong, "ratePerSecond", in.RatePerSecond, 0, 10_000)
	registry.CheckBetween(wrong, "maxConcurrency", in.MaxConcurrency, 1, 64)
	registry.CheckBetween(wrong, "timeoutSeconds", in.TimeoutSeconds, 1, int64(LongestTimeout/time.Second))
	if in.Kind == store.EndpointWebhook {
		e.checkWebhook(in, old, wrong)
		e.checkSending(in, wrong)
	}
	return wrong
}

func (e *Endpoints) checkWebhook(in EndpointInput, old store.Endpoint, wrong registry.Problems) {
	wrong.AddIf(in.ContentMode != registry.ModeStructured && in.ContentMode != registry.ModeBinary, "contentMode", "partners.endpoint.mode-bad")
	wrong.AddIf(in.ContentMode == registry.ModeBinary && old.SignScheme == store.SignStandard, "contentMode", "partners.sign.binary-mode")
	e.checkAddress(wrong, "url", in.URL)
	wrong.AddIf(!slices.Contains(e.TokenAuthMethods(), in.TokenAuthMethod), "tokenAuthMethod", "partners.endpoint.method-bad")
	e.checkCertificate(in, old, wrong)
	if in.TokenAuthMethod == registry.TokenAuthNone {
		return
	}
	e.checkAddress(wrong, "tokenUrl", in.TokenURL)
	wrong.Add("tokenClientId", registry.CheckLine(in.TokenClientID, 1, 255))
	wrong.Add("tokenScope", registry.CheckLine(in.TokenScope, 0, 1000))
	if usesSecret(in.TokenAuthMethod) {
		wrong.Add("tokenSecret", checkTokenSecret(in, old))
	}
}

// checkAddress notes what is wrong with an address that has to be there.
func (e *Endpoints) checkAddress(wrong registry.Problems, field, address string) {
	if address == "" {
		wrong.Add(field, "registry.fill-in")
	} else if err := e.cfg.CheckURL(address); err != nil {
		wrong.Add(field, registry.AddressProblem(err))
	}
}

// checkTokenSecret asks the secret again when something else than before would get it or what it gives access to: who took over a
// session cannot read the secret, and must not be able to have it sent to a server of its own either.
func checkTokenSecret(in EndpointInput, old store.Endpoint) i18n.Message {
	switch {
	case in.TokenSecret != "":
		return registry.CheckLine(in.TokenSecret, 1, 1000)
	case old.TokenSecret == "":
		return "partners.endpoint.secret-missing"
	case registry.Origin(in.URL) != registry.Origin(old.URL), registry.Origin(in.TokenURL) != registry.Origin(old.TokenURL):
		return "partners.endpoint.secret-host"
	}
	return ""
}

// needsCertificate reports whether a method proves who we are by a client certificate.
func needsCertificate(method string) bool { return method == token.TLSClientAuth }

func usesSecret(method string) bool {
	return method == token.ClientSecretBasic || method == token.ClientSecretPost
}

// apply writes checked input into an endpoint.
func (e *Endpoints) apply(to *store.Endpoint, in EndpointInput) {
	to.Name, to.ContentMode = in.Name, in.ContentMode
	to.RatePerSecond, to.MaxConcurrency, to.TimeoutMS = in.RatePerSecond, in.MaxConcurrency, in.TimeoutSeconds*1000
	if to.Kind == store.EndpointInbox {
		to.RatePerSecond, to.MaxConcurrency, to.TimeoutMS = store.InboxPerSecond, store.InboxAtOnce, store.InboxTimeoutMS
		to.InboxAnswer = cmp.Or(to.InboxAnswer, store.InboxAccepts)
	}
	if to.Kind != store.EndpointWebhook {
		return
	}
	applySending(to, in)
	to.URL, to.TokenAuthMethod = in.URL, in.TokenAuthMethod
	to.TokenURL, to.TokenClientID, to.TokenScope = in.TokenURL, in.TokenClientID, in.TokenScope
	if in.TokenAuthMethod == registry.TokenAuthNone {
		to.TokenURL, to.TokenClientID, to.TokenScope = "", "", ""
	}
	switch {
	case !usesSecret(in.TokenAuthMethod):
		to.TokenSecret = ""
	case in.TokenSecret != "":
		to.TokenSecret = e.cfg.Vault.Seal(endpointSecretPurpose, []byte(in.TokenSecret))
	}
}

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
			wrong.Add("windows", "partners.endpoint.windows-unused")
		} else if err := e.cfg.CheckWindows(in.Windows); err != nil {
			wrong.Add("windows", i18n.Raw(registry.AsSentence(err.Error())))
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
	wrong.AddIf(in.ContractID == "" && !in.BatchStated,
		"batchStated", "partners.endpoint.batches-ground")
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
		return registry.Invalid(registry.Problems{"contractId": i18n.M("partners.endpoint.contract-unknown", in.ContractVersion, in.ContractID)})
	}
	if err != nil {
		return err
	}
	in.ContractVersion = version.Version
	doc, _, err := contract.Parse(content, contract.Limits{})
	switch {
	case err != nil || doc == nil || doc.Kind != contract.OpenAPI:
		return registry.Invalid(registry.Problems{"contractId": "partners.endpoint.contract-not-openapi"})
	case in.BatchEvents > 0 && !takesBatches(doc):
		return registry.Invalid(registry.Problems{"batchEvents": i18n.M("partners.endpoint.contract-no-batches", in.ContractID, in.ContractVersion, batchType)})
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
