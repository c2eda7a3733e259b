package compare

import "strings"

// discriminator maps values to forms.
type discriminator struct {
	property, at, fallback string
	mapping                map[string]string // values to pointers of schemas, without those that are the schema's own name
}

func (b *bundle) discriminator() *discriminator {
	for _, part := range b.parts {
		switch said := part.object["discriminator"].(type) {
		case string: // as AsyncAPI writes it
			return &discriminator{property: said, at: part.at + "/discriminator"}
		case map[string]any:
			d := &discriminator{property: text(said, "propertyName"), at: part.at + "/discriminator", fallback: text(said, "defaultMapping"), mapping: map[string]string{}}
			for value := range child(said, "mapping") {
				target := text(child(said, "mapping"), value)
				if !strings.ContainsAny(target, "#/") {
					target = "#/components/schemas/" + target
				}
				if pointer, _ := localPointer(target); lastStep(pointer) != value {
					d.mapping[value] = either(pointer, target)
				}
			}
			return d
		}
	}
	return nil
}

// discriminators compares how the form of a value is told.
func (c *comparison) discriminators() {
	was, is := c.old.discriminator(), c.new.discriminator()
	switch {
	case was == nil && is == nil:
	case was == nil:
		e := narrower
		if c.old.requires(is.property) {
			e = nothing
		}
		c.report(e, "-discriminator-added", "The property "+code(is.property)+" now tells which form {it} has", c.old.at, is.at)
	case is == nil:
		e := wider
		if c.new.requires(was.property) {
			e = nothing
		}
		c.report(e, "-discriminator-removed", "The property "+code(was.property)+" no longer tells which form {it} has", was.at, c.new.at)
	case was.property != is.property:
		c.report(other, "-discriminator-property-name-changed", "The property that tells which form {it} has changed from "+code(was.property)+" to "+code(is.property), was.at, is.at)
	default:
		c.mappings(was, is)
	}
}

// requires reports whether every form of a value has a property.
func (b *bundle) requires(name string) bool {
	if b.shape().required[name] != "" {
		return true
	}
	for _, u := range b.unions() {
		all := true
		for _, branch := range u.branches {
			all = all && b.from.bundle(branch).shape().required[name] != ""
		}
		if all {
			return true
		}
	}
	return false
}

func (c *comparison) mappings(was, is *discriminator) {
	for _, value := range unionKeys(was.mapping, is.mapping) {
		before, had := was.mapping[value]
		after, has := is.mapping[value]
		switch {
		case had && has:
			if before != after && c.otherSchemas(before, after) {
				c.report(other, "-discriminator-mapping-changed", "The value "+code(value)+" now tells that {it} has another form", was.at, is.at)
			}
		case had:
			e := narrower
			if _, stays := c.new.forms()[lastStep(before)]; stays && c.read {
				e = other // the form comes under another value
			}
			c.report(e, "-discriminator-mapping-deleted", "The value "+code(value)+" no longer tells which form {it} has", was.at, is.at)
		default:
			c.report(wider, "-discriminator-mapping-added", "The value "+code(value)+" now tells which form {it} has", was.at, is.at)
		}
	}
	if was.fallback != is.fallback {
		c.report(unclear, "-discriminator-default-changed", "{It} has another form where the property "+code(is.property)+" is absent", was.at, is.at)
	}
}

// otherSchemas reports whether two schemas differ in what they allow.
func (c *comparison) otherSchemas(before, after string) bool {
	old, new := c.old.from.at(before), c.new.from.at(after)
	return c.worst(c.try(old, new)) != ""
}

// at gives the schema that a pointer leads to.
func (s *source) at(pointer string) schemaAt {
	value, at := s.value(map[string]any{"$ref": "#" + pointer}, pointer)
	return schemaAt{value, at}
}

// forms gives the names of the branches of all unions.
func (b *bundle) forms() map[string]bool {
	list := map[string]bool{}
	for _, u := range b.unions() {
		for _, branch := range u.branches {
			list[b.from.name(branch)] = true
		}
	}
	return list
}
