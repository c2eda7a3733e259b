// Package partners holds the pages about partners and what they have: endpoints, clients, subscriptions and read keys,
// as a partner sees its own (client.templ) and as administrators see all (admin_client.templ).
//
// Its components get view structs and write what is in them, escaped. They decide nothing about who may see what.
package partners
