package event

import "schakel/registry/strictjson"

// fault is why JSON text cannot be read, and where.
type fault struct {
	off          int
	code, detail string
}

// syntaxFault describes the fault that the scanner met, in the words of an answer.
func syntaxFault(s *strictjson.Scanner) *fault {
	f := &fault{off: s.Fault.Offset, code: CodeSyntax}
	switch s.Fault.Kind {
	case strictjson.TooDeep:
		f.code, f.detail = CodeDepth, "the JSON nests too deep; flatten the data or refer to it with dataref"
		return f
	case strictjson.NoValue:
		f.detail = "expected a JSON value"
	case strictjson.NoName:
		f.detail = "expected a member name in double quotes"
	case strictjson.NoColon:
		f.detail = `expected ":" after the member name`
	case strictjson.NoComma:
		f.detail = `expected "," or "` + string(s.Fault.Closing) + `"`
	case strictjson.NoDigit:
		f.detail = "expected a digit"
	case strictjson.NoQuote:
		f.detail = "a string is not closed"
	case strictjson.BadEscape:
		f.detail = `broken escape; only \" \\ \/ \b \f \n \r \t and \u with four hexadecimal digits exist`
	case strictjson.BareControl:
		f.detail = "a control character stands bare in a string; escape it"
	case strictjson.Trailing:
		f.detail = "nothing may follow the JSON value; remove what stands after it"
	}
	if f.off >= len(s.Buf) {
		f.detail = "the JSON text breaks off; " + f.detail
	}
	return f
}
