// Package mail sends the mails that wait, lists them for administrators, and writes the notices of the delivery engine. A mail is stored
// with the change it reports and sent at least once: a crash right after a mail server took it sends it again. Without a mail server
// mails wait, and administrators read them in the portal.
package mail
