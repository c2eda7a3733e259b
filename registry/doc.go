// Package registry holds what the services of the agreements share: who acts and what they may see, refusals, the audit trail,
// mails, one-time links, secrets, settings, and reading input. It knows none of the services; these are in the packages below it, one a
// feature, and services makes them all.
//
// Every change is made by an [Actor], is written with its audit entry and the mails it
// causes in one transaction, and is refused with an [*Error] whose text may be shown. What a reader sees is bounded by
// its [Scope]: rows of another partner are not found (guarantee G7).
package registry
