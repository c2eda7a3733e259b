package registry

import (
	"slices"
	"strings"

	"schakel/store"
)

// DatasetObjectType is an object type as the dataset writes it; case does not count (MUT-63).
func DatasetObjectType(d store.Dataset, name string) (string, bool) {
	i := slices.IndexFunc(d.ObjectTypes, func(known string) bool { return strings.EqualFold(known, name) })
	if i < 0 {
		return "", false
	}
	return d.ObjectTypes[i], true
}
