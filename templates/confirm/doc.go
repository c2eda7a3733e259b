// Package confirm draws the pages about actions that wait for a second person. What a reader can decide about is given: the pages judge nothing.
package confirm
