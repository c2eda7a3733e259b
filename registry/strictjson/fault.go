package strictjson

// Fault is the first thing that is wrong with a text.
type Fault struct {
	Offset  int // in bytes
	Kind    Kind
	Closing byte // of NoComma: the bracket that could stand there too
}

// Kind is a kind of fault; the first six name what is expected at the place.
type Kind byte

// The kinds of faults.
const (
	NoValue     Kind = iota + 1 // a value
	NoName                      // a member name in double quotes
	NoColon                     // the colon behind a member name
	NoComma                     // a comma or the closing bracket
	NoDigit                     // a digit of a number
	NoQuote                     // the quote that closes a string; at the end of the text
	BadEscape                   // an escape that does not exist
	BareControl                 // a control character in a string that is not escaped
	TooDeep                     // nesting beyond the limit
	Trailing                    // more behind the value
)
