// Package web mounts the HTTP layer of the product: it builds what all pages and APIs share and lets each feature register
// its own routes. Handlers are in a package for each feature; site holds what pages share, api what APIs share. Only these
// packages know echo.
//
// A handler reads its input, authorises, calls one method of a service, makes a view and renders it or redirects with 303.
// It holds no SQL, reads no clock and logs nothing: it returns the error, and site/errors.go alone turns errors into answers.
// The text of an error the program does not know never reaches a user; the id of the request does, and the log has the cause
// under that id. Who is asking comes from the session (pages) or the access token (APIs), never from the address or the body
// (guarantee G7).
package web
