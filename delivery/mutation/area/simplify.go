package area

// tolerance limits the distance of a simplified line from the true one, in pixels.
const tolerance = 0.35

// simplify leaves out points of an open line of pixels that lie near the line without them: first those close to the
// one before, then by Douglas and Peucker's method. First and last stay.
func simplify(line []Point) []Point {
	thin := line[:0:0]
	for i, p := range line {
		if last := len(thin) - 1; i > 0 && i < len(line)-1 && near(p, thin[last]) {
			continue
		}
		thin = append(thin, p)
	}
	keep := make([]bool, len(thin))
	keep[0], keep[len(thin)-1] = true, true
	for todo := [][2]int{{0, len(thin) - 1}}; len(todo) > 0; {
		from, to := todo[len(todo)-1][0], todo[len(todo)-1][1]
		todo = todo[:len(todo)-1]
		if at := farthest(thin, from, to); at > 0 {
			keep[at] = true
			todo = append(todo, [2]int{from, at}, [2]int{at, to})
		}
	}
	out := thin[:0]
	for i, p := range thin {
		if keep[i] {
			out = append(out, p)
		}
	}
	return out
}

func near(p, q Point) bool {
	dx, dy := p.X-q.X, p.Y-q.Y
	return dx*dx+dy*dy < tolerance*tolerance/4
}

// farthest finds the point between two others that is farthest from their segment, or 0 when all are near.
func farthest(line []Point, from, to int) int {
	found, most := 0, tolerance*tolerance
	for i := from + 1; i < to; i++ {
		if d := distance(line[i], line[from], line[to]); d > most {
			found, most = i, d
		}
	}
	return found
}

// distance is the square of that of a point to a segment.
func distance(p, a, b Point) float64 {
	dx, dy := b.X-a.X, b.Y-a.Y
	if length := dx*dx + dy*dy; length > 0 {
		t := max(0, min(1, ((p.X-a.X)*dx+(p.Y-a.Y)*dy)/length))
		a = Point{a.X + t*dx, a.Y + t*dy}
	}
	return (p.X-a.X)*(p.X-a.X) + (p.Y-a.Y)*(p.Y-a.Y)
}
