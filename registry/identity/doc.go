// Package identity holds who may log in or call: accounts with their passwords, clients with their grants, read-only keys, and the keys that
// sign access tokens.
package identity
