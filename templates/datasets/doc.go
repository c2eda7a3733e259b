// Package datasets holds the pages about datasets: their deltas and snapshots, areas, imports and subscriptions to them.
//
// Its components get view structs and write what is in them, escaped. They decide nothing about who may see what.
package datasets
