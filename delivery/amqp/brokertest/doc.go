// Package brokertest runs the brokers and the foreign parties that the tests of the AMQP bridge talk to: private RabbitMQ nodes
// of both versions on loopback ports, parties made with python3-qpid-proton and npm rhea, and a broker scripted with rhea for
// outcomes that a real one does not show on demand.
//
// Nothing of it is part of the program. What a machine lacks is said in the message of a skipped test; with CI=true it is a
// failure.
package brokertest
