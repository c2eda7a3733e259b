// Package amqp holds the pages about the exchange by AMQP: brokers, parties, processes, queues and messages.
//
// Its components get view structs and write what is in them, escaped. They decide nothing about who may see what.
package amqp
