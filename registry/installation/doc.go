// Package installation judges an installation of Schakel: what is wrong with it, with a remedy for each problem, and how far it is on the
// way from its first start to its first event.
//
// [Judge] is pure: it turns facts into findings. The installation page, schakel doctor and /readyz all show what it finds, so that they
// never disagree. A [Service] gathers the facts that the database has; those that only a process or a request finds out, such as free
// space and whether the base URL leads here, are given as [Surroundings].
//
// A finding has a stable code, such as mail-none, by which monitoring may tell it. The package changes nothing but what an administrator
// confirms: that the secret key was backed up, and that mails arrive.
package installation
