package archive

// Limits bounds what a zip may ask. A zero field takes its default; a negative one is no bound.
type Limits struct {
	Entries int   // files; default 200,000
	Entry   int64 // bytes of one file unpacked; default 8 GiB
	Total   int64 // bytes of all of them unpacked; default 4 TiB
	Ratio   int64 // unpacked to packed bytes of one file, and of all of them; default 200
	Free    int64 // unpacked bytes before the ratio counts; default 1 MiB
	Others  bool  // files that are no XML are reported instead of refused in a delivery
}

func (l Limits) filled() Limits {
	or := func(n *int64, value int64) {
		switch {
		case *n == 0:
			*n = value
		case *n < 0:
			*n = 1<<63 - 1
		}
	}
	entries := int64(l.Entries)
	or(&entries, 200_000)
	l.Entries = int(entries)
	or(&l.Entry, 8<<30)
	or(&l.Total, 4<<40)
	or(&l.Ratio, 200)
	or(&l.Free, 1<<20)
	return l
}

// allow reports whether so many unpacked bytes may come of so many packed ones.
func (l Limits) allow(unpacked, packed int64) error {
	if unpacked > l.Free && unpacked/l.Ratio > packed {
		return fault(ErrLimit, "more than %d bytes come of each", l.Ratio)
	}
	return nil
}
