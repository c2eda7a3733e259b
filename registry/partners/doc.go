// Package partners holds the registered organisations with their endpoints and subscriptions, and the routes between them.
// A partner changes only what is its own (guarantee G7), and nothing is sent for a subscription that is not approved (guarantee G2). Every
// change is in the audit trail, in the same transaction. The deliveries themselves are the engine's.
package partners
