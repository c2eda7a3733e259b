package registry

// Codes of the coordinate systems that a dataset may have (EPSG).
const (
	CRSNone          = 0
	CRSRijksdriehoek = 28992
	CRSWGS84         = 4326
)
