package event

import (
	"encoding/base64"
	"errors"
)

// ErrDataRef: the event refers to data already.
var ErrDataRef = errors.New("the event has a dataref of its own")

// Size returns the number of bytes AppendJSON appends: the size of the event on the wire in structured mode.
func (e *Event) Size() int {
	bare, data := max(len(e.Attributes), 2), e.dataSize()
	size := bare + data
	if data > 0 && bare > 2 {
		size++ // the comma between
	}
	implied := e.contentType()
	if e.DataContentType != "" || implied == "" {
		return size
	}
	added := len(`"datacontenttype":""`) + len(implied)
	if bare > 2 || data > 0 {
		added++
	}
	if size+added > MinEventBytes && size <= MinEventBytes {
		return size
	}
	return size + added
}

// dataSize returns the size of the data with its name.
func (e *Event) dataSize() int {
	switch e.DataKind {
	case DataJSON:
		return len(`"data":`) + len(e.Data)
	case DataText:
		return len(`"data":`) + textSize(e.Data)
	case DataBinary:
		return len(`"data_base64":""`) + base64.StdEncoding.EncodedLen(len(e.Data))
	default:
		return 0
	}
}

// textSize returns the number of bytes appendText appends.
func textSize(value []byte) int {
	size := len(value) + 2
	for _, c := range value {
		switch {
		case c == '"' || c == '\\' || c == '\b' || c == '\t' || c == '\n' || c == '\f' || c == '\r':
			size++
		case c < 0x20:
			size += len(`\u0000`) - 1
		}
	}
	return size
}

// DataType returns the media type of the data: datacontenttype as it was received, or the type that its absence implies.
func (e *Event) DataType() string { return e.contentType() }

// Refer returns the event with a reference to its data in place of the data (EDU-01a, CE-21). All else is unchanged. The
// reference must be an absolute URL. An event that has a dataref gives ErrDataRef.
func (e *Event) Refer(dataref string) (Event, error) {
	if _, given := e.Extension("dataref"); given {
		return Event{}, ErrDataRef
	}
	attributes := make([]byte, 0, len(e.Attributes)+len(dataref)+16)
	attributes = append(attributes, e.Attributes[:len(e.Attributes)-1]...)
	attributes = append(e.appendName(attributes, 0, `"dataref":`), appendText(nil, dataref)...)
	return FromParts(append(attributes, '}'), DataNone, nil)
}
