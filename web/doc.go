// Package web is the HTTP layer of the product: router, sessions, middleware,
// and one file per page or API resource. It is the only package that knows echo.
//
// A handler reads its input, authorises, calls one method of a service, makes a
// view and renders it or redirects with 303. It holds no SQL, reads no clock and
// logs nothing: it returns the error, and errors.go alone turns errors into
// answers. The text of an error the program does not know never reaches a user;
// the id of the request does, and the log has the cause under that id.
//
// Who is asking comes from the session (pages) or the access token (APIs), never
// from the address or the body. A partner's handler takes the partner id from
// partnerID(c) or callerOf(c) alone (guarantee G7).
package web
