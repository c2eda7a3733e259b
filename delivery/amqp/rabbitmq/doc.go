// Package rabbitmq finds a RabbitMQ on this machine and runs private nodes of it: on free loopback ports, with their data in a
// folder of their own, apart from any RabbitMQ that runs already. The demonstration shows the bridge on one, and tests are held
// on them.
//
// A node ends with the process that launched it, also when that is killed: a shell between the two reads a pipe, and ends the
// node and removes its folder when the pipe closes. A killed shell leaves its folder.
package rabbitmq
