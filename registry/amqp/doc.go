// Package amqp holds what is agreed of the exchange by AMQP 1.0: brokers, parties, their certificates and keys, and the processes they share.
package amqp
