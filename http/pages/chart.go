package pages

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"svc/domain/page"
	"svc/domain/value"
)

// Size of a chart, in units of its view box.
const (
	chartWidth, chartHeight            = 600.0, 320.0
	chartLeft, chartBottom, chartTop   = 64.0, 40.0, 12.0
	maxSeries, maxPoints, maxTickLabel = 8, 500, 14
)

// series is one column of the data of a chart.
type series struct {
	Index  int
	Name   string
	values []float64
}

func showChart(c config, root root) template.HTML {
	rows, _ := c.at("data").([]any)
	var headings []string
	var labels []string
	var all []series
	var table [][]string
	for i, entry := range rows {
		cells, _ := entry.([]any)
		if i == 0 {
			for j, heading := range cells {
				headings = append(headings, c.textOf(heading))
				if j > 0 && j <= maxSeries {
					all = append(all, series{Index: j - 1, Name: c.textOf(heading)})
				}
			}
			continue
		}
		if len(cells) == 0 || i > maxPoints {
			continue
		}
		labels = append(labels, c.textOf(cells[0]))
		line := []string{c.textOf(cells[0])}
		for j := range all {
			n := math.NaN()
			if j+1 < len(cells) {
				n = value.ToNumber(cells[j+1])
			}
			all[j].values = append(all[j].values, n)
			text := ""
			if !math.IsNaN(n) {
				text = page.FormatNumber(n, c.view.Language.Tag, -1)
			}
			line = append(line, text)
		}
		table = append(table, line)
	}
	options, _ := c.part("config")
	kind := oneOf(c.text("type"), "line", "column", "pie")
	plot := chart{kind: kind, labels: labels, series: all, stacked: options.isSet("stacked"), unit: options.text("unit"), language: c.view.Language.Tag,
		min: options.number("min", math.NaN()), max: options.number("max", math.NaN())}
	title := c.text("title")
	legend := plot.legend()
	if given, ok := options.get("legend"); ok && !value.IsTruthy(given) {
		legend = nil
	}
	label := orElse(title, c.texts.Chart)
	return c.execute("Charts", map[string]any{"Root": root, "Title": title, "Label": label, "Headings": headings, "Rows": table, "SVG": plot.svg(label), "Legend": legend})
}

// chart draws series as SVG. Colours come from the style sheet, by class.
type chart struct {
	kind     string
	labels   []string
	series   []series
	stacked  bool
	unit     string
	language string
	min, max float64
}

func (c chart) legend() []series {
	if c.kind != "pie" {
		return c.series
	}
	var parts []series
	for i, label := range c.labels {
		parts = append(parts, series{Index: i % maxSeries, Name: label})
	}
	return parts
}

func (c chart) svg(label string) template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s" preserveAspectRatio="xMidYMid meet">`, chartWidth, chartHeight, template.HTMLEscapeString(label))
	if len(c.labels) > 0 && len(c.series) > 0 {
		if c.kind == "pie" {
			c.drawPie(&b)
		} else {
			c.drawAxes(&b)
		}
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) //nolint:gosec // numbers, and text that is escaped
}

// limits returns the range of the values, with zero in it unless the configuration says otherwise.
func (c chart) limits() (low, high float64) {
	for i := range c.labels {
		up, down := 0.0, 0.0
		for _, s := range c.series {
			n := s.values[i]
			switch {
			case math.IsNaN(n) || math.IsInf(n, 0):
			case c.stacked && n >= 0:
				up += n
			case c.stacked:
				down += n
			default:
				up, down = max(up, n), min(down, n)
			}
		}
		low, high = min(low, down), max(high, up)
	}
	if !math.IsNaN(c.min) {
		low = c.min
	}
	if !math.IsNaN(c.max) {
		high = c.max
	}
	if high <= low {
		high = low + 1
	}
	return low, high
}

// tickStep returns a round distance between about five ticks.
func tickStep(span float64) float64 {
	raw := span / 5
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, factor := range []float64{1, 2, 5} {
		if raw <= factor*power {
			return factor * power
		}
	}
	return 10 * power
}

func (c chart) drawAxes(b *strings.Builder) {
	low, high := c.limits()
	step := tickStep(high - low)
	low, high = math.Floor(low/step)*step, math.Ceil(high/step)*step
	width, height := chartWidth-chartLeft-8, chartHeight-chartBottom-chartTop
	y := func(n float64) float64 { return chartTop + height*(1-(min(max(n, low), high)-low)/(high-low)) }
	for i := 0; i <= 12 && low+float64(i)*step <= high+step/2; i++ {
		n := low + float64(i)*step
		fmt.Fprintf(b, `<line class="svc-grid" x1="%g" x2="%g" y1="%.1f" y2="%.1f"/>`, chartLeft, chartWidth-8, y(n), y(n))
		text := page.FormatNumber(n, c.language, -1)
		if c.unit != "" {
			text += " " + c.unit
		}
		fmt.Fprintf(b, `<text class="svc-tick" x="%g" y="%.1f" text-anchor="end">%s</text>`, chartLeft-6, y(n)+4, template.HTMLEscapeString(text))
	}
	slot := width / float64(len(c.labels))
	every := max(1, int(math.Ceil(64/slot)))
	for i, label := range c.labels {
		if i%every != 0 {
			continue
		}
		if runes := []rune(label); len(runes) > maxTickLabel {
			label = string(runes[:maxTickLabel-1]) + "…"
		}
		fmt.Fprintf(b, `<text class="svc-tick" x="%.1f" y="%g" text-anchor="middle">%s</text>`, chartLeft+slot*(float64(i)+0.5), chartHeight-chartBottom+18, template.HTMLEscapeString(label))
	}
	if c.kind == "column" {
		c.drawColumns(b, slot, y)
		return
	}
	sums := make([]float64, len(c.labels))
	for _, s := range c.series {
		var points []string
		for i, n := range s.values {
			if math.IsNaN(n) || math.IsInf(n, 0) {
				continue
			}
			if c.stacked {
				sums[i] += n
				n = sums[i]
			}
			points = append(points, fmt.Sprintf("%.1f,%.1f", chartLeft+slot*(float64(i)+0.5), y(n)))
		}
		fmt.Fprintf(b, `<polyline class="svc-line svc-series-%d" points="%s"/>`, s.Index, strings.Join(points, " "))
		if len(points) <= 60 {
			for _, p := range points {
				x, y, _ := strings.Cut(p, ",")
				fmt.Fprintf(b, `<circle class="svc-dot svc-series-%d" cx="%s" cy="%s" r="3"/>`, s.Index, x, y)
			}
		}
	}
}

func (c chart) drawColumns(b *strings.Builder, slot float64, y func(float64) float64) {
	bars := len(c.series)
	if c.stacked {
		bars = 1
	}
	width := slot * 0.8 / float64(bars)
	for i := range c.labels {
		up, down := 0.0, 0.0
		for j, s := range c.series {
			n := s.values[i]
			if math.IsNaN(n) || math.IsInf(n, 0) {
				continue
			}
			x, from, to := chartLeft+slot*(float64(i)+0.1), 0.0, n
			switch {
			case !c.stacked:
				x += width * float64(j)
			case n >= 0:
				from, to = up, up+n
				up = to
			default:
				from, to = down, down+n
				down = to
			}
			top, bottom := y(max(from, to)), y(min(from, to))
			fmt.Fprintf(b, `<rect class="svc-bar svc-series-%d" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, s.Index, x, top, width, max(0, bottom-top))
		}
	}
}

func (c chart) drawPie(b *strings.Builder) {
	values := c.series[0].values
	total := 0.0
	for _, n := range values {
		if n > 0 && !math.IsInf(n, 0) {
			total += n
		}
	}
	if total == 0 {
		return
	}
	cx, cy, r := chartWidth/2, chartHeight/2, chartHeight/2-12
	angle := -math.Pi / 2
	for i, n := range values {
		if n <= 0 || math.IsNaN(n) || math.IsInf(n, 0) {
			continue
		}
		share := n / total
		if share > 0.9999 {
			fmt.Fprintf(b, `<circle class="svc-slice svc-series-%d" cx="%g" cy="%g" r="%g"/>`, i%maxSeries, cx, cy, r)
			return
		}
		end := angle + 2*math.Pi*share
		large := 0
		if share > 0.5 {
			large = 1
		}
		fmt.Fprintf(b, `<path class="svc-slice svc-series-%d" d="M%g %g L%.2f %.2f A%g %g 0 %d 1 %.2f %.2f Z"/>`,
			i%maxSeries, cx, cy, cx+r*math.Cos(angle), cy+r*math.Sin(angle), r, r, large, cx+r*math.Cos(end), cy+r*math.Sin(end))
		angle = end
	}
}
