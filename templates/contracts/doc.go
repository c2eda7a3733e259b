// Package contracts holds the pages of the contract register: contracts, versions, their reading view and changes,
// event types, and the mirrors of other registers.
//
// Its components get view structs and write what is in them, escaped; the source of a document is text, never markup.
// They decide nothing about who may see what.
package contracts
