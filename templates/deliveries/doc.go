// Package deliveries holds the pages about deliveries: the queues, one delivery with its attempts, jobs and replays.
//
// Its components get view structs and write what is in them, escaped. They decide nothing about who may see what.
package deliveries
