package contract

// Unpack reads all files of a zip, with their names in order and without its manifest, which is given apart. The findings
// say why the zip is refused, as [ReadUpload] does.
func Unpack(content []byte) (names []string, files map[string][]byte, manifest Manifest, findings []Finding) {
	a, fault := openArchive(content, Limits{}.withDefaults())
	if fault != nil {
		return nil, nil, Manifest{}, []Finding{*fault}
	}
	files = map[string][]byte{}
	for _, name := range a.names {
		if name == ManifestName {
			continue
		}
		content, fault := a.read(name)
		if fault != nil {
			return nil, nil, Manifest{}, []Finding{*fault}
		}
		names, files[name] = append(names, name), content
	}
	return names, files, a.manifest, nil
}

// Glance reads a file as JSON or YAML, without wanting it to be a contract; the format is empty when it is neither.
func Glance(content []byte) (root any, format string) {
	d := &Document{content: content, limits: Limits{}.withDefaults(), Format: FormatYAML}
	if d.read() != nil {
		return nil, ""
	}
	return d.Root, d.Format
}

// IsAvro reports whether an object is a named type in Avro: a record, enum or fixed.
func IsAvro(object map[string]any) bool { return avroName(object) != "" }
