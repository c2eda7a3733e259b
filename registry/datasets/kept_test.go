package datasets

import (
	"maps"
	"slices"
	"testing"

	"schakel/registry"
	"schakel/store"
)

// What objects were published of stays.
func TestDatasetKeepsWhatWasPublished(t *testing.T) {
	t.Parallel()
	wrong := registry.Problems{}
	before := store.Dataset{ObjectTypes: []string{"School", "Annex"}, CRS: registry.CRSRijksdriehoek, LastSeq: 5}
	DatasetInput{ObjectTypes: []string{"School"}, CRS: registry.CRSNone}.checkKept(before, 0, wrong)
	if got := slices.Sorted(maps.Keys(wrong)); !slices.Equal(got, []string{"crs", "objectTypes"}) {
		t.Errorf("of what was published: %v", got)
	}
}
