// Package templates holds the tests that go over the pages of all features; the pages themselves are in a package for each
// feature of web, and what they are made of is in ui. It guarantees that every page of the gallery is well-formed and
// accessible by structure; what a browser makes of it is tested in server/e2e.
package templates
