// Package partners holds the registered organisations with their endpoints and subscriptions, and the routes between them.
package partners
