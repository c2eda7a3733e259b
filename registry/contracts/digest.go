package contracts

import (
	"strings"

	"schakel/registry"
	"schakel/store"
)

// named refuses a request to publish a draft that does not name its bytes: CodeDigestMissing without a digest, and
// CodeDraftChanged with that of other bytes. A version that is no draft is refused for that, whatever the digest.
func named(v store.ContractVersion, digest string) error {
	digest = strings.TrimPrefix(strings.TrimSpace(digest), "sha256:")
	switch {
	case digest == "":
		return &registry.Error{Code: registry.CodeDigestMissing, Message: "Name the bytes to publish by their SHA-256 digest, as the register answered it for the draft that you reviewed."}
	case v.Status == store.VersionDraft && digest != v.Digest && digest != v.DocumentDigest():
		return draftChanged(v)
	}
	return nil
}

func draftChanged(v store.ContractVersion) error {
	return &registry.Error{Code: registry.CodeDraftChanged, Message: "Version " + v.Version + " was not published: its draft was replaced since you looked at it. Review the draft as it is now, and publish that with its digest."}
}

// sameBytes reports whether two readings of a version have the same upload and the same document made of it.
func sameBytes(a, b store.ContractVersion) bool {
	return a.ID == b.ID && a.Digest == b.Digest && a.BundleDigest == b.BundleDigest
}
