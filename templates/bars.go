package templates

import "strconv"

// Chart is a row of bars, such as deliveries an hour.
type Chart struct {
	// ID must be unique on the page.
	ID    string
	Title string
	// Summary says in a sentence what the picture shows.
	Summary string
	// LabelHead and Series head the columns of the data table.
	LabelHead string
	Series    []string
	Bars      []Bar
}

// Bar holds one value for each of Chart.Series, from the bottom up; none is
// below zero.
type Bar struct {
	Label  string
	Values []int
}

// The drawing area, in units of the view box.
const (
	chartWidth  = 640
	chartHeight = 160
)

// block is one rectangle of a drawn chart.
type block struct {
	x, y, width, height string
	series              int
}

func (c Chart) highest() int {
	top := 1
	for _, b := range c.Bars {
		top = max(top, b.total())
	}
	return top
}

func (b Bar) total() int {
	sum := 0
	for _, v := range b.Values {
		sum += v
	}
	return sum
}

func (c Chart) blocks() []block {
	var list []block
	slot := float64(chartWidth) / float64(max(len(c.Bars), 1))
	scale := float64(chartHeight) / float64(c.highest())
	for i, bar := range c.Bars {
		base := float64(chartHeight)
		for series, v := range bar.Values {
			if v <= 0 {
				continue
			}
			height := float64(v) * scale
			base -= height
			list = append(list, block{
				x: number(float64(i)*slot + slot*0.12), y: number(base),
				width: number(slot * 0.76), height: number(height), series: series,
			})
		}
	}
	return list
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) }

func (b block) class() string { return "schakel-chart__series-" + strconv.Itoa(b.series%4) }
