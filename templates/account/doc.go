// Package account holds the pages about logging in: login, set-up, registration, passwords, and the start page.
//
// Its components get view structs and write what is in them, escaped. They decide nothing about who may see what.
package account
