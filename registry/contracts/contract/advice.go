package contract

// Place fills in the line and column of findings that others made, from their pointers, and gives them back. Those that
// have a line already keep it.
func (d *Document) Place(findings []Finding) []Finding { return d.place(findings) }

// Trace fills in the files of the zip that findings which others made come from; nothing for a document by itself.
func (u *Upload) Trace(findings []Finding) { u.trace(findings) }
