// Package registry holds what is agreed: partners, their accounts, clients, endpoints and subscriptions, the contracts
// and event types, the routes between partners, and what is told about all of it by mail and in the audit trail.
//
// There is one service a noun. Every change is made by an [Actor], is written with its audit entry and the mails it
// causes in one transaction, and is refused with an [*Error] whose text may be shown. What a reader sees is bounded by
// its [Scope]: rows of another partner are not found (guarantee G7).
package registry
