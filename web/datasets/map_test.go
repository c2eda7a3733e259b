package datasets

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"schakel/delivery/mutation/area"
	"schakel/store"
)

// The edge of an area does not run through the coordinates above it or the length of the scale below it, also in the larger
// letters of a phone, and no two lines of the grid say the same coordinate.
func TestDatasetMap(t *testing.T) {
	t.Parallel()
	numbers := regexp.MustCompile(`[ML]\S+ ([0-9.]+)`)
	for _, side := range []float64{1, 3, 40, 2000, 300_000} {
		wkt := fmt.Sprintf("POLYGON((100000 400000,%[1]f 400000,%[1]f %[2]f,100000 %[2]f,100000 400000))", 100_000+side, 400_000+side)
		v := datasetMap(t.Context(), store.Dataset{CRS: int64(area.RD)}, "map", "a", []mapArea{{label: "a", wkt: wkt}})
		if v == nil {
			t.Fatal("no map")
		}
		for _, found := range numbers.FindAllStringSubmatch(v.Layers[0].Path, -1) {
			if y, err := strconv.ParseFloat(found[1], 64); err != nil || y < 30 || y > mapHeight-30 {
				t.Errorf("an area of %v m reaches %v, %v", side, y, err)
			}
		}
		told := map[string]bool{}
		for _, l := range v.GridX {
			if told[l.Label] && l.Label != "" {
				t.Errorf("in an area of %v m two lines are %s", side, l.Label)
			}
			told[l.Label] = true
		}
	}
}
