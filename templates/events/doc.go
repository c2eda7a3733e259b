// Package events holds the pages about events and quarantined messages.
//
// Its components get view structs and write what is in them, escaped. They decide nothing about who may see what.
package events
