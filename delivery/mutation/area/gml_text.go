package area

import (
	"strconv"

	"schakel/delivery/mutation/format/xmlscan"
)

// content reads the numbers that are the content of the current element.
func (r *Reader) content() error {
	if err := r.read(); err != nil {
		return err
	}
	return r.parse(' ')
}

// read takes the text of the current element, which has no elements in it.
func (r *Reader) read() error {
	r.text = r.text[:0]
	for {
		tok, err := r.next()
		if err != nil {
			return err
		}
		switch tok.Kind {
		case xmlscan.Text:
			r.text = xmlscan.AppendText(r.text, tok.Text)
		case xmlscan.CData:
			r.text = append(r.text, tok.Text...)
		case xmlscan.Start:
			return r.fault("an element among the numbers")
		case xmlscan.End:
			return nil
		}
	}
}

// coordinates reads the older way of writing, x,y x,y: a comma in a position and space between them. Positions all
// have as many numbers as the first.
func (r *Reader) coordinates(tok *xmlscan.Token) error {
	for _, a := range tok.Attrs {
		switch string(a.Name) + "=" + string(a.Value) {
		case "decimal=.", "cs=,", "ts= ":
			continue
		}
		if name := string(a.Name); name == "decimal" || name == "cs" || name == "ts" {
			return r.fault("numbers written with %s=%.10q", name, a.Value)
		}
	}
	if err := r.read(); err != nil {
		return err
	}
	dim := 1
	for i := 0; i < len(r.text) && (dim == 1 || !space(r.text[i])); i++ {
		if r.text[i] == ',' {
			dim++
		}
	}
	if dim != 2 && dim != 3 {
		return r.fault("coordinates of %d numbers", dim)
	}
	if err := r.parse(','); err != nil {
		return err
	}
	return r.take(dim)
}

func space(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// parse makes numbers of the text, divided by space or by one more character.
func (r *Reader) parse(also byte) error {
	r.numbers = r.numbers[:0]
	text := r.text
	for i := 0; i < len(text); {
		if c := text[i]; space(c) || c == also {
			i++
			continue
		}
		v, n, ok := number(text[i:])
		if end := i + n; !ok || end < len(text) && !space(text[end]) && text[end] != also {
			for end = i; end < len(text) && !space(text[end]) && text[end] != also; {
				end++
			}
			n = end - i
			v, ok = slowNumber(text[i:end])
		}
		if !ok || !plausible(v) {
			return r.fault("%.30q is no coordinate", text[i:i+n])
		}
		r.numbers = append(r.numbers, v)
		i += n
	}
	return nil
}

// number reads a decimal number of up to 15 digits at the start of the text and gives its length. Such a number is a
// quotient of two that a float64 holds exactly, so that dividing them gives what the standard library would.
func number(text []byte) (v float64, length int, ok bool) {
	i, whole, digits, point := 0, uint64(0), 0, -1
	if len(text) > 0 && text[0] == '-' {
		i = 1
	}
	for ; i < len(text); i++ {
		c := text[i]
		if d := c - '0'; d < 10 {
			whole = whole*10 + uint64(d)
			digits++
		} else if c == '.' && point < 0 {
			point = digits
		} else {
			break
		}
	}
	if digits == 0 || digits > 15 {
		return 0, i, false
	}
	v = float64(whole)
	if point >= 0 {
		v /= powerOfTen(digits - point)
	}
	if text[0] == '-' {
		v = -v
	}
	return v, i, true
}

// slowNumber reads any other way to write a number. NaN, infinities and hexadecimals are none here.
func slowNumber(text []byte) (float64, bool) {
	for _, c := range text {
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(string(text), 64)
	return v, err == nil
}

func powerOfTen(n int) float64 {
	if n == 3 { // millimetres, as nearly all coordinates have
		return 1e3
	}
	table := [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}
	return table[n]
}
