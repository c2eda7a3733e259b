package contract

import "testing"

func TestLocateJSON(t *testing.T) {
	t.Parallel()
	const text = "{\n  \"é\": {\"a\": [1,\n 2]},\n  \"b\": 3}"
	for pointer, want := range map[string][2]int{
		"": {1, 1}, "/é": {2, 3}, "/é/a/1": {3, 2}, "/b": {4, 3}, "/b/c": {4, 3}, "/none": {1, 1},
	} {
		if line, column := LocateJSON([]byte(text), pointer); line != want[0] || column != want[1] {
			t.Errorf("%s is at %d:%d, want %v", pointer, line, column, want)
		}
	}
}
