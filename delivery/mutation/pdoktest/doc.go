// Package pdoktest plays download APIs like those of PDOK in tests: the list of deltas, custom downloads with their status, and
// predefined downloads of deltas and of the full state (MUT-50..53).
//
// Each dataset has the formats, feature types and file names that PDOK's API for it has. A request for anything else is refused
// with 400 and a text, as PDOK does. It keeps everything in memory and is safe for concurrent use.
package pdoktest
