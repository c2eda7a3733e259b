// Package api carries the APIs of all features: callers, strict JSON, idempotency keys, problem documents, and the OpenAPI documents
// that are served.
//
// It knows no feature: features embed [API] and register their routes with [API.Scoped]. A request with an Idempotency-Key is
// answered from its record when it is repeated (IDEM-07); the record is written with the change, so a crash between the two
// is no second change. Bodies are bounded, and unknown members are refused with their place.
package api
