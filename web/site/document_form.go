package site

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
)

// UploadTime bounds how long a large document may take on a slow line.
const UploadTime = 2 * time.Minute

// FormOverhead bounds the bytes of a form beside its document. It is sent as
// multipart, so the document itself does not grow.
const FormOverhead = 64 << 10

// DocumentForm is an upload as the form sends it.
type DocumentForm struct {
	file                []byte
	FileName            string
	Text, Version, Main string
	Fetch               bool // fetch what it refers to at addresses
}

// Content is the file, or the pasted text when there is none.
func (d DocumentForm) Content() []byte {
	if len(d.file) > 0 {
		return d.file
	}
	return []byte(d.Text)
}

// Field is the field the document came from.
func (d DocumentForm) Field() string {
	if len(d.file) > 0 {
		return "document"
	}
	return "text"
}

// ReadDocumentForm reads the parts one by one, so that nothing goes to a
// temporary file; the group bounds the body.
func ReadDocumentForm(c echo.Context) (DocumentForm, error) {
	var in DocumentForm
	parts, err := c.Request().MultipartReader()
	if err != nil {
		return in, echo.NewHTTPError(http.StatusUnsupportedMediaType, "site.form-multipart").SetInternal(err)
	}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return in, nil
		}
		if err != nil {
			return in, BadForm(fmt.Errorf("read upload: %w", err))
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return in, BadForm(fmt.Errorf("read upload: %w", err))
		}
		if err := in.set(part.FormName(), part.FileName(), content); err != nil {
			return in, err
		}
	}
}

func (d *DocumentForm) set(name, fileName string, content []byte) error {
	if name == "document" {
		d.file, d.FileName = content, fileName
		return nil
	}
	if !utf8.Valid(content) {
		return echo.NewHTTPError(http.StatusBadRequest, "site.form-utf8")
	}
	switch name {
	case "text":
		// Browsers send the lines of a text area with CR LF, whatever was pasted.
		d.Text = strings.ReplaceAll(string(content), "\r\n", "\n")
		if strings.TrimSpace(d.Text) == "" {
			d.Text = ""
		}
	case "version":
		d.Version = Clean(string(content))
	case "main":
		d.Main = Clean(string(content))
	case "fetch":
		d.Fetch = len(content) > 0
	}
	return nil
}
