package xsd_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"schakel/delivery/amqp/xsd"
)

// enclosed is a document of a schema of our own with a text in it.
func enclosed(text string) []byte {
	return []byte(`<box xmlns="urn:test:box"><name>file</name><content>` + text + `</content></box>`)
}

const boxSchema = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:test:box" elementFormDefault="qualified">
<xs:element name="box"><xs:complexType><xs:sequence>
<xs:element name="name" type="xs:string"/><xs:element name="content" type="xs:base64Binary"/>
</xs:sequence></xs:complexType></xs:element></xs:schema>`

// TestLargeText validates documents with one text beyond the limit that the validator has by itself.
//
// Rules: AMQP-111
func TestLargeText(t *testing.T) {
	set := loadBox(t)
	for _, size := range []int{1 << 20, 11 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			text := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, size/4*3))
			if findings, err := set.Validate(t.Context(), enclosed(text)); err != nil || len(findings) > 0 {
				t.Errorf("%v, %v", findings, err)
			}
			bad := []byte(text)
			bad[len(bad)/2] = '*'
			if findings, err := set.Validate(t.Context(), enclosed(string(bad))); err != nil || len(findings) == 0 {
				t.Errorf("a wrong character: %.100v, %v", findings, err)
			}
		})
	}
	if _, err := set.Validate(t.Context(), enclosed("<")); !errors.Is(err, xsd.ErrNotXML) {
		t.Error(err)
	}
}

func loadBox(t *testing.T) *xsd.Set {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "box.xsd"), []byte(boxSchema), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := xsd.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return set
}
