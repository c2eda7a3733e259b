package event

import (
	"bytes"
	"encoding/base64"
)

// AppendJSON appends the event in structured JSON: the attributes as they were
// received, then "data" or "data_base64". JSON data goes out byte for byte. A
// content type that was only implied is written out (CE-58), unless that would
// push an event over the 64 KiB that every party must take (CE-31).
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

// appendText appends a JSON string with no more escapes than JSON asks for, so
// that it never grows on its way through us.
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
