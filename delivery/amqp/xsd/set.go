// Package xsd validates business documents against the XML schemas that an operator puts in a folder (AMQP-111). The
// schemas of the health exchange carry no licence, so none comes with the program.
//
// All schemas of the folder are compiled into one set, because a MsgHead demands that the documents in it are valid by
// schemas of their own. Nothing outside the folder is read and nothing is fetched: a schema that names another place is
// refused when the set is loaded, with its file and line.
//
// Known hole: the validator cannot be stopped half-way. When the context of Validate ends, the caller gets its answer
// and the work goes on in the background; a fixed number of slots bounds how much of that there can be.
package xsd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lestrrat-go/helium/xsd"
	"golang.org/x/sync/semaphore"

	"schakel/registry/xmlscan"
)

// Bounds.
const (
	maxFiles    = 500
	maxFile     = 8 << 20
	maxFindings = 100
	slots       = 8
	// together bounds the bytes of documents that are validated at once: the validator needs some 15 times that in memory.
	together = xmlscan.MaxBytes
)

// Errors of this package.
var (
	// ErrNoSchema reports that the set has no schema for a document, or for a document within it. What that means is a
	// setting of the operator; it is never a fault of the sender.
	ErrNoSchema = errors.New("no schema for this namespace")
	// ErrNotXML reports that a document is not well-formed, or passes the bounds.
	ErrNotXML = errors.New("document cannot be read as XML")
	// ErrFolder reports that a folder has no schema that can be used.
	ErrFolder = errors.New("schemas cannot be loaded")
)

// Set is a compiled set of schemas, safe for concurrent use. A nil Set has no schema at all.
type Set struct {
	schema     *xsd.Schema
	namespaces map[string]string
	slots      chan struct{}
	bytes      *semaphore.Weighted
}

// Finding is a place where a document is not valid. Text may quote the content of the document: it may go to the sender
// of the message and to the operator, and not into a log.
type Finding struct {
	// Line counts from 1; 0 when the place is not known.
	Line int
	// Path is the name of the element, with /@name for an attribute.
	Path string
	Text string
}

// String gives a finding in one line.
func (f Finding) String() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s", f.Path, f.Text)
	}
	return fmt.Sprintf("line %d, %s: %s", f.Line, f.Path, f.Text)
}

// LoadError describes a problem of a file of the folder. It wraps ErrFolder.
type LoadError struct {
	// File is relative to the folder.
	File string
	// Line counts from 1; 0 when the place is not known.
	Line int
	Text string
}

// Error gives the place and the cause.
func (e *LoadError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Text)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text)
}

// Unwrap gives ErrFolder.
func (e *LoadError) Unwrap() error { return ErrFolder }

// NoSchemaError names a namespace without a schema. It wraps ErrNoSchema.
type NoSchemaError struct{ Namespace string }

// Error names the namespace.
func (e *NoSchemaError) Error() string {
	name := e.Namespace
	if len(name) > 200 {
		name = strings.ToValidUTF8(name[:200], "") + "…"
	}
	return fmt.Sprintf("%v: %q", ErrNoSchema, name)
}

// Unwrap gives ErrNoSchema.
func (e *NoSchemaError) Unwrap() error { return ErrNoSchema }

// Has reports whether there is a schema for a namespace.
func (s *Set) Has(namespace string) bool {
	if s == nil {
		return false
	}
	_, ok := s.namespaces[namespace]
	return ok
}

// Schema is one namespace of a set and the file that defines it, relative to the folder.
type Schema struct{ Namespace, File string }

// Schemas lists what the folder defines, by namespace.
func (s *Set) Schemas() []Schema {
	if s == nil {
		return nil
	}
	var all []Schema
	for namespace, file := range s.namespaces {
		if _, own := builtin()[file]; !own {
			all = append(all, Schema{Namespace: namespace, File: file})
		}
	}
	slices.SortFunc(all, func(a, b Schema) int { return strings.Compare(a.Namespace, b.Namespace) })
	return all
}
