package format

import (
	_ "embed"
	"fmt"
	"io"
	"strings"

	"schakel/delivery/mutation/format/xmlscan"
)

// WriteSchema writes the XML schema of a dataset of one's own: a root element around the message, and an element of the
// same namespace that takes any object in. It is the template mutatielevering-mydataset-1.0.xsd brought to namespace
// 2.0 (MUT-62). It has ObjectElement beside the object element given, since deliveries have it around objects that were
// published without one. The generic schema is named by its location, such as "mutatielevering-generiek-2.0.xsd".
func WriteSchema(w io.Writer, root Name, object, generic string) error {
	if root.Prefix == "" || root.Prefix == "xs" || root.Prefix == "ml" || strings.HasPrefix(strings.ToLower(root.Prefix), "xml") {
		return invalid("a schema with the prefix %q", root.Prefix)
	}
	if err := root.check(); err != nil {
		return err
	}
	if root.Local == object || root.Local == ObjectElement {
		return invalid("a root element named %q, as an element around objects is", root.Local)
	}
	if err := xmlscan.CheckName("", object); err != nil {
		return invalid("%v", err)
	}
	names := strings.NewReplacer("{p}", root.Prefix, "{space}", escaped(root.Space), "{root}", root.Local,
		"{ml}", Namespace2, "{generic}", escaped(generic))
	text := names.Replace(schema) + names.Replace(strings.ReplaceAll(schemaObject, "{object}", ObjectElement))
	if object != ObjectElement {
		text += names.Replace(strings.ReplaceAll(schemaObject, "{object}", object))
	}
	text += "</xs:schema>\n"
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write the schema of a dataset: %w", err)
	}
	return nil
}

//go:embed generic-2.0.xsd
var genericSchema string

// GenericSchema is the XML schema of the format itself, in words of this project, that a schema of [WriteSchema] imports.
func GenericSchema() string { return genericSchema }

func escaped(text string) string { return string(xmlscan.AppendEscaped(nil, text)) }

const schema = `<?xml version="1.0" encoding="UTF-8"?>
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:{p}="{space}" xmlns:ml="{ml}"
        targetNamespace="{space}" elementFormDefault="qualified">
    <xs:import namespace="{ml}" schemaLocation="{generic}"/>
    <xs:element name="{root}">
        <xs:complexType>
            <xs:sequence>
                <xs:element ref="ml:mutatieBericht"/>
            </xs:sequence>
        </xs:complexType>
    </xs:element>
`

const schemaObject = `    <xs:element name="{object}" type="{p}:{object}" substitutionGroup="ml:modelObject"/>
    <xs:complexType name="{object}">
        <xs:complexContent>
            <xs:extension base="ml:modelObject">
                <xs:sequence>
                    <xs:any namespace="##any" processContents="lax" minOccurs="0" maxOccurs="unbounded"/>
                </xs:sequence>
            </xs:extension>
        </xs:complexContent>
    </xs:complexType>
`
