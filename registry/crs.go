package registry

// Codes of the coordinate systems that a dataset may have (EPSG).
const (
	crsNone = 0
	crsRD   = 28992
	crsWGS  = 4326
)
