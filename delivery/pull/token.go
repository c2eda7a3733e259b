package pull

import (
	"encoding/base64"
	"strings"

	"schakel/store"
)

// maxToken bounds a lock token in bytes; ours have about 80.
const maxToken = 200

// token makes the lock token of a delivery: opaque to consumers, and safe in an address.
func token(deliveryID, lockID string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(deliveryID + " " + lockID))
}

// parseToken reads what token made; ok is false for anything else.
func parseToken(t string) (lock store.PullLock, ok bool) {
	if len(t) > maxToken {
		return lock, false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(t)
	if err != nil {
		return lock, false
	}
	delivery, id, found := strings.Cut(string(b), " ")
	if !found || !validID(delivery) || !validID(id) {
		return lock, false
	}
	return store.PullLock{DeliveryID: delivery, LockID: id}, true
}

// validID reports whether an id has only the characters ours have; a database rejects some others.
func validID(id string) bool {
	return id != "" && strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}
