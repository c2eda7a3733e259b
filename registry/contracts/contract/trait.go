package contract

import "maps"

// mostTraitDepth bounds how deep a trait is merged; deeper values replace each other whole.
const mostTraitDepth = 20

// MergeTrait gives what stands in an object of AsyncAPI over which another is laid, as a JSON Merge Patch (RFC 7396): objects
// in both are merged, null takes away, anything else replaces. A value that is or has a reference is replaced whole, since what
// it refers to is not known here. Neither argument is changed.
func MergeTrait(under, over map[string]any) map[string]any { return mergeTrait(under, over, 0) }

func mergeTrait(under, over map[string]any, depth int) map[string]any {
	merged := maps.Clone(under)
	if merged == nil {
		merged = map[string]any{}
	}
	for key, value := range over {
		if value == nil {
			delete(merged, key)
			continue
		}
		below, is1 := merged[key].(map[string]any)
		above, is2 := value.(map[string]any)
		if is1 && is2 && below["$ref"] == nil && above["$ref"] == nil && depth < mostTraitDepth {
			value = mergeTrait(below, above, depth+1)
		}
		merged[key] = value
	}
	return merged
}
