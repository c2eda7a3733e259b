// Package admin holds the pages of administrators about this Schakel itself: the overview, accounts, mails, routes,
// settings and the audit trail.
//
// Its components get view structs and write what is in them, escaped. They decide nothing about who may see what.
package admin
