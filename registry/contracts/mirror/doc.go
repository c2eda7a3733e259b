// Package mirror reads the contracts in a register of somebody else: another Schakel, an API catalogue (RFC 9727), an
// Apicurio Registry 3, or a list of addresses.
//
// A [Driver] lists contracts, the versions of one, and fetches the bytes of a version. It keeps nothing and decides nothing. What
// it reads is a stranger's: every answer is bounded in size and every list in length, no redirect is followed, and the key of the
// register goes to the host of the register alone. Where requests may go is for whoever makes the [Doer].
package mirror
