// Package mail sends the mails that wait, lists them for administrators, and writes the notices of the delivery engine.
package mail
