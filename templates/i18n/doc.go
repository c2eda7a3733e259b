// Package i18n holds every text that people read, in each language of the portal, and writes numbers, dates and lengths of time
// as a reader expects them.
//
// A text has a key and lies in texts/en.txt, nl.txt and nb.txt, one file a language. Code that knows its reader calls [T] with the
// context of the request; code that does not, such as a check in the registry, makes a [Message], which is turned into text
// where the reader is known, may be stored, and is English in logs.
//
// A line of a catalogue is "key = text". Its verbs follow package fmt, with the number of their argument where the order
// differs: %[2]s. %s writes a text, %d a whole number with the separators of the language. A line that begins with white space goes on
// with the text before it. Of a key that counts, "key[one] = …" and "key[other] = …" are chosen by its first argument;
// "key[one 2]" by its second. A line that begins with # is a comment.
//
// It guarantees that a text of any catalogue has the same arguments in every language: a test reads the catalogues and the calls. It
// does not translate what people, partners and other programs wrote. It imports nothing of ours but the files, so every layer may import it.
package i18n
