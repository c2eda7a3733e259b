package area

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"schakel/store/needs"
)

// TestOrientIsExact holds it against fractions, for points that are as good as on one line.
func TestOrientIsExact(t *testing.T) {
	needs.Unraced(t)
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	counts := map[int]int{}
	for range 50_000 {
		a := Point{155000 + float64(random.IntN(1000000))/1000, 463000 + float64(random.IntN(1000000))/1000}
		b := Point{155000 + float64(random.IntN(1000000))/1000, 463000 + float64(random.IntN(1000000))/1000}
		part := random.Float64()
		if random.IntN(3) == 0 {
			part = 0.5
		}
		c := Point{a.X + part*(b.X-a.X), a.Y + part*(b.Y-a.Y)}
		if random.IntN(2) == 0 {
			c.X = math.Nextafter(c.X, 0)
		}
		got, want := orient(a, b, c), fraction(a, b, c)
		if got != want {
			t.Fatalf("%v %v %v: %d, want %d", a, b, c, got, want)
		}
		if exact := orientExactly(a, b, c); exact != want {
			t.Fatalf("%v %v %v: exactly %d, want %d", a, b, c, exact, want)
		}
		counts[got]++
	}
	if len(counts) != 3 {
		t.Errorf("not much of a test: %v", counts)
	}
}

func fraction(a, b, c Point) int {
	rat := func(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }
	minus := func(p, q float64) *big.Rat { return new(big.Rat).Sub(rat(p), rat(q)) }
	left := new(big.Rat).Mul(minus(a.X, c.X), minus(b.Y, c.Y))
	return left.Cmp(new(big.Rat).Mul(minus(a.Y, c.Y), minus(b.X, c.X)))
}
