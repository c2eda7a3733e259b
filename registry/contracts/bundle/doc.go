// Package bundle fetches what a contract refers to at addresses, once, and puts it in a zip with the document, so that the
// contract is complete and stays the same whatever becomes of those addresses (EDU-21).
//
// The zip holds a manifest that maps addresses to files and records when each was fetched and with which digest
// ([contract.Manifest]). What is pinned in a zip already is not fetched again. References in what was fetched are followed
// too, relative to where it was found after redirects.
package bundle
