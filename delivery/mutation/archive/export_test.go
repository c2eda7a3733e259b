package archive

// Crowd has a writer take fewer files for many, and fewer bytes for a file.
func (d *DeliveryWriter) Crowd(many, grow int, bytes int64) {
	d.many, d.grow, d.large = many, grow, bytes
}
