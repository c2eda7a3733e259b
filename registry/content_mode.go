package registry

// Content modes of a webhook, and the method of an endpoint without credentials.
const (
	ModeStructured = "structured"
	ModeBinary     = "binary"
	TokenAuthNone  = "none"
)
