package event

import (
	"bytes"
	"encoding/base64"
	"errors"

	"schakel/registry/strictjson"
)

// AppendJSON appends the event in structured JSON: the attributes as they were received, then "data" or "data_base64". JSON data
// goes out byte for byte. A content type that was only implied is written out (CE-58), unless that would push an event over the
// 64 KiB that every party must take (CE-31).
func (e *Event) AppendJSON(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, '{')
	if n := len(e.Attributes); n > 2 {
		dst = append(dst, e.Attributes[1:n-1]...)
	}
	bare := len(dst)
	if implied := e.contentType(); e.DataContentType == "" && implied != "" {
		dst = e.appendName(dst, start, `"datacontenttype":"`)
		dst = append(append(dst, implied...), '"')
	}
	added := len(dst) - bare
	dst = e.appendData(dst, start)
	dst = append(dst, '}')
	if size := len(dst) - start; added > 0 && size > MinEventBytes && size-added <= MinEventBytes {
		dst = append(dst[:bare], dst[bare+added:]...)
	}
	return dst
}

func (e *Event) appendData(dst []byte, start int) []byte {
	switch e.DataKind {
	case DataJSON:
		return append(e.appendName(dst, start, `"data":`), e.Data...)
	case DataText:
		return appendText(e.appendName(dst, start, `"data":`), e.Data)
	case DataBinary:
		dst = base64.StdEncoding.AppendEncode(e.appendName(dst, start, `"data_base64":"`), e.Data)
		return append(dst, '"')
	default:
		return dst
	}
}

func (e *Event) appendName(dst []byte, start int, name string) []byte {
	if len(dst) > start+1 {
		dst = append(dst, ',')
	}
	return append(dst, name...)
}

// contentType returns the content type given or implied. Data without any is called octets, for a receiver would take a
// missing type for JSON.
func (e *Event) contentType() string {
	switch {
	case e.DataContentType != "":
		return e.DataContentType
	case e.DataKind == DataJSON:
		return "application/json"
	case e.DataKind == DataText:
		return "text/plain"
	case e.DataKind == DataBinary:
		return "application/octet-stream"
	default:
		return ""
	}
}

// appendText appends a JSON string with no more escapes than JSON asks for, so that it never grows on its way through us.
func appendText[T string | []byte](dst []byte, value T) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	done := 0
	for i := 0; i < len(value); i++ {
		c := value[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, value[done:i]...)
		done = i + 1
		if short := bytes.IndexByte([]byte("\b\t\n\f\r\"\\"), c); short >= 0 {
			dst = append(dst, '\\', `btnfr"\`[short])
		} else {
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(dst, value[done:]...), '"')
}

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

// WithText returns the event with text of a media type in place of its data. All other attributes keep the literals that were received.
func (e *Event) WithText(mediaType string, text []byte) (Event, error) {
	s := strictjson.Scanner{Buf: e.Attributes, Depth: 1}
	all := string(e.Attributes)
	attributes := append(make([]byte, 0, len(e.Attributes)+len(mediaType)+24), '{')
	for more := s.Peek() == '{' && s.Open() && s.Peek() != '}'; more; {
		name, ok := s.Name()
		start := s.Pos
		if _, _, valid := scalar(&s, all); !ok || !valid {
			return Event{}, errAttributes
		}
		if label := all[name.From:name.To]; label != "datacontenttype" {
			attributes = append(e.appendName(attributes, 0, `"`+label+`":`), e.Attributes[start:s.Pos]...)
		}
		more, _ = s.Next('}')
	}
	attributes = appendText(e.appendName(attributes, 0, `"datacontenttype":`), mediaType)
	return FromParts(append(attributes, '}'), DataText, text)
}
