// Package token implements the OAuth 2.0 authorisation server of an installation
// and checks the access tokens it hands out (SEC-01 to SEC-12).
//
// It knows one grant, client_credentials, and four ways for a client to prove who it is: private_key_jwt (RFC 7523),
// tls_client_auth (RFC 8705), client_secret_basic and client_secret_post. Access tokens are JWTs of RFC 9068, signed with ES256.
//
// Guarantees:
//   - an access token is accepted only with a signature of a published key, for
//     this issuer and audience, before it expires, and while its client is
//     active; a withdrawn client is refused within 5 seconds;
//   - an assertion is accepted once, on all nodes that share a [Replay];
//   - an unknown client and a wrong secret get the same answer by the same path.
//
// Known hole: the time an assertion takes does reveal whether the client exists, because only a known client has a key to check
// it with. Client ids are no secret.
//
// The package does no HTTP of its own besides fetching a client's jwks_uri with
// the guarded client it is given, and holds no storage: callers inject it.
package token
