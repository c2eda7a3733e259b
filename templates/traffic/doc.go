// Package traffic holds the page of what moved: events, deliveries, failures, latency and what waits, over time.
//
// Its components get view structs and write what is in them, escaped. They decide nothing about who may see what.
package traffic
