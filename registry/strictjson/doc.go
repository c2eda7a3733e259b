// Package strictjson walks JSON text (RFC 8259) token by token, builds nothing, and gives the position of each token and of the
// first fault with its kind. What to do with a member name that stands twice, and how to report it, is left to the caller; a
// surrogate that stands alone has no value (Unescape). Text must be valid UTF-8. The package imports nothing else of the product.
package strictjson
