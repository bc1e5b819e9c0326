package pages

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"svc/domain/page"
	"svc/domain/value"
)

// Limits of a chart.
const (
	maxSeries, maxPoints = 8, 500
	maxTickLabel         = 14 // characters
	tickLabelRoom        = 72 // characters that all labels below a wide chart may have
)

// series is one column of the data of a chart.
type series struct {
	Index  int
	Name   string
	Share  string // of the whole, in a pie
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
	return c.execute("Charts", map[string]any{"Root": root, "Title": title, "Label": label, "Headings": headings, "Rows": table, "Plot": plot.html(label), "Legend": legend, "Texts": c.texts})
}

// chart draws series as SVG, stretched over the whole width in units of a hundredth. Texts stand beside it, so that they
// have the same size at every width. Colours come from the style sheet, by class.
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
	total, parts := c.total(), []series(nil)
	for i, label := range c.labels {
		part := series{Index: i % maxSeries, Name: label}
		if n := c.partOf(i); n > 0 {
			part.Share = page.FormatNumber(math.Round(n/total*100), c.language, 0) + " %"
		}
		parts = append(parts, part)
	}
	return parts
}

// html returns the drawing; "" when there is nothing to draw.
func (c chart) html(label string) template.HTML {
	if len(c.labels) == 0 || len(c.series) == 0 || c.kind == "pie" && c.total() == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<div class="svc-plot svc-plot-%s" role="img" aria-label="%s">`, c.kind, template.HTMLEscapeString(label))
	if c.kind == "pie" {
		c.drawPie(&b)
	} else {
		c.drawAxes(&b)
	}
	b.WriteString("</div>")
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
	ticks := min(max(int(math.Round((high-low)/step)), 1), 12)
	y := func(n float64) float64 { return 100 * (1 - (min(max(n, low), high)-low)/(high-low)) }
	b.WriteString(`<div class="svc-axis-y">`)
	for i := ticks; i >= 0; i-- {
		text := page.FormatNumber(low+float64(i)*step, c.language, -1)
		if c.unit != "" {
			text += " " + c.unit
		}
		fmt.Fprintf(b, `<span>%s</span>`, template.HTMLEscapeString(text))
	}
	b.WriteString(`</div><svg class="svc-drawing" viewBox="0 0 100 100" preserveAspectRatio="none">`)
	for i := range ticks + 1 {
		at := y(low + float64(i)*step)
		fmt.Fprintf(b, `<path class="svc-grid" d="M0 %.2fH100"/>`, at)
	}
	slot := 100 / float64(len(c.labels))
	if c.kind == "column" {
		c.drawColumns(b, slot, y)
	} else {
		c.drawLines(b, slot, y)
	}
	b.WriteString(`</svg>`)
	c.drawLabels(b, slot)
}

// drawLabels draws as many labels as have room. On narrow screens every second one is left out.
func (c chart) drawLabels(b *strings.Builder, slot float64) {
	longest := 1
	for _, label := range c.labels {
		longest = max(longest, min(maxTickLabel, len([]rune(label))+1))
	}
	every := max(1, int(math.Ceil(float64(len(c.labels)*longest)/tickLabelRoom)))
	b.WriteString(`<svg class="svc-axis-x">`)
	for i, shown := 0, 0; i < len(c.labels); i, shown = i+every, shown+1 {
		label := c.labels[i]
		if runes := []rune(label); len(runes) > maxTickLabel {
			label = string(runes[:maxTickLabel-1]) + "…"
		}
		class := ""
		if shown%2 == 1 {
			class = ` class="svc-second"`
		}
		fmt.Fprintf(b, `<text%s x="%.2f%%" y="1.2em" text-anchor="middle">%s</text>`, class, slot*(float64(i)+0.5), template.HTMLEscapeString(label))
	}
	b.WriteString(`</svg>`)
}

func (c chart) drawLines(b *strings.Builder, slot float64, y func(float64) float64) {
	sums := make([]float64, len(c.labels))
	for _, s := range c.series {
		var line, dots strings.Builder
		move, points := "M", 0
		for i, n := range s.values {
			if math.IsNaN(n) || math.IsInf(n, 0) {
				move = "M" // a gap
				continue
			}
			if c.stacked {
				sums[i] += n
				n = sums[i]
			}
			fmt.Fprintf(&line, "%s%.2f %.2f", move, slot*(float64(i)+0.5), y(n))
			fmt.Fprintf(&dots, "M%.2f %.2fh0", slot*(float64(i)+0.5), y(n))
			move = "L"
			points++
		}
		fmt.Fprintf(b, `<path class="svc-line svc-series-%d" d="%s"/>`, s.Index, line.String())
		if points <= 60 {
			fmt.Fprintf(b, `<path class="svc-dots svc-series-%d" d="%s"/>`, s.Index, dots.String())
		}
	}
}

func (c chart) drawColumns(b *strings.Builder, slot float64, y func(float64) float64) {
	bars := len(c.series)
	if c.stacked {
		bars = 1
	}
	width := slot * 0.7 / float64(bars)
	for i := range c.labels {
		up, down := 0.0, 0.0
		for j, s := range c.series {
			n := s.values[i]
			if math.IsNaN(n) || math.IsInf(n, 0) {
				continue
			}
			x, from, to := slot*(float64(i)+0.15), 0.0, n
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
			fmt.Fprintf(b, `<rect class="svc-bar svc-series-%d" x="%.2f" y="%.2f" width="%.2f" height="%.2f"/>`, s.Index, x, top, width, max(0, bottom-top))
		}
	}
}

// partOf is the size of a part of a pie; 0 for what a pie cannot show.
func (c chart) partOf(i int) float64 {
	if len(c.series) == 0 || math.IsInf(c.series[0].values[i], 0) || math.IsNaN(c.series[0].values[i]) {
		return 0
	}
	return max(0, c.series[0].values[i])
}

func (c chart) total() (sum float64) {
	for i := range c.labels {
		sum += c.partOf(i)
	}
	return sum
}

func (c chart) drawPie(b *strings.Builder) {
	total, angle := c.total(), -math.Pi/2
	b.WriteString(`<svg viewBox="-50 -50 100 100">`)
	for i := range c.labels {
		share := c.partOf(i) / total
		switch {
		case share == 0:
		case share > 0.9999:
			fmt.Fprintf(b, `<circle class="svc-slice svc-series-%d" r="48"/>`, i%maxSeries)
		default:
			end, large := angle+2*math.Pi*share, 0
			if share > 0.5 {
				large = 1
			}
			fmt.Fprintf(b, `<path class="svc-slice svc-series-%d" d="M0 0L%.2f %.2fA48 48 0 %d 1 %.2f %.2fZ"/>`,
				i%maxSeries, 48*math.Cos(angle), 48*math.Sin(angle), large, 48*math.Cos(end), 48*math.Sin(end))
			angle = end
		}
	}
	b.WriteString(`</svg>`)
}
