package msghead

import (
	"errors"
	"fmt"
	"strings"

	"schakel/registry/xmlscan"
)

// What can be wrong with a document. The order is that of the checks: the first that fails is the one that Parse gives.
var (
	// ErrEncoding is answered with transport:invalid-encoding and ExpectedCharset (AMQP-135).
	ErrEncoding = xmlscan.ErrEncoding
	// ErrHeader reports that the header cannot be interpreted: answered with transport:not-well-formed-xml (AMQP-106).
	ErrHeader = errors.New("the header of the message cannot be read")
	// ErrBody reports that the header was read and the rest is no XML: answered with an AppRec T01 (AMQP-110).
	ErrBody = errors.New("the message cannot be read after its header")
	// ErrValues reports that required values are missing: answered with an AppRec T02 (AMQP-112).
	ErrValues = errors.New("required values are missing or wrong")
)

// ExpectedCharset goes into the error transport:invalid-encoding, for the sender to use (AMQP-135).
const ExpectedCharset = "utf-8"

// Error describes a problem of a document. It wraps one of ErrEncoding, ErrHeader, ErrBody and ErrValues and, where
// there is one, the cause. It quotes names of elements, never the content of the message.
type Error struct {
	// Is is the class, or an error that wraps it.
	Is error
	// Line and Column count from 1; 0 when there is no place to point at.
	Line, Column int
	// Cause is the error of the reader, nil for ErrValues.
	Cause error
	// Fields are the paths of missing values, as MsgInfo/MsgId.
	Fields []string
}

// Error gives the whole in one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Is.Error())
	if len(e.Fields) > 0 {
		b.WriteString(": " + strings.Join(e.Fields, ", "))
	}
	if e.Cause != nil {
		fmt.Fprintf(&b, ": %v", e.Cause)
	}
	return b.String()
}

// Unwrap gives the class and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Is}
	}
	return []error{e.Is, e.Cause}
}

// failed makes an *Error of a class from what the reader said.
func failed(class, cause error) *Error {
	e := &Error{Is: class, Cause: cause}
	var syntax *xmlscan.SyntaxError
	if errors.As(cause, &syntax) {
		e.Line, e.Column = syntax.Line, syntax.Column
	}
	return e
}

// missing makes an *Error of a class about fields, nil when there are none.
func missing(class error, fields []string) error {
	if len(fields) == 0 {
		return nil
	}
	return &Error{Is: class, Fields: fields}
}
