package registry

import (
	"maps"
	"slices"
	"testing"

	"schakel/store"
)

// What objects were published of stays.
func TestDatasetKeepsWhatWasPublished(t *testing.T) {
	t.Parallel()
	wrong := problems{}
	before := store.Dataset{ObjectTypes: []string{"School", "Annex"}, CRS: crsRD, LastSeq: 5}
	DatasetInput{ObjectTypes: []string{"School"}, CRS: crsNone}.checkKept(before, 0, wrong)
	if got := slices.Sorted(maps.Keys(wrong)); !slices.Equal(got, []string{"crs", "objectTypes"}) {
		t.Errorf("of what was published: %v", got)
	}
}
