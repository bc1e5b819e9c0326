package collection

import (
	"regexp"
	"strconv"
	"strings"

	"svc/domain/automation/value"
)

// convert is fit for a row that was kept under another type: its text says the same as
// a number or a boolean, and the other way round. It is false also when something of
// the value would be lost, which a write may lose.
func (p *Property) convert(v any) (any, bool) {
	if kept, ok := p.fit(v); ok {
		return kept, p.saysTheSame(v, kept)
	}
	switch v := v.(type) {
	case float64, bool:
		return value.Text(v), p.Type == "string" || p.Type == "text"
	case string:
		return v == "true", p.Type == "boolean" && (v == "true" || v == "false")
	}
	return nil, false
}

// finer finds digits below the millisecond in the text of a date: no date keeps them.
var finer = regexp.MustCompile(`[.,][0-9]{3}[0-9]*[1-9]`)

// saysTheSame reports whether nothing of a text is lost in what is kept of it.
func (p *Property) saysTheSame(v, kept any) bool {
	text, ok := v.(string)
	if !ok {
		return true
	}
	if n, ok := kept.(float64); ok {
		return sameNumber(text, strconv.FormatFloat(n, 'e', -1, 64))
	}
	return p.Type != "date" && p.Type != "datetime" || !finer.MatchString(text)
}

// sameNumber reports whether two texts write the same number but for its sign.
func sameNumber(a, b string) bool {
	digits, power, ok := decimalOf(a)
	others, other, fine := decimalOf(b)
	return ok && fine && digits == others && power == other
}

// decimalOf returns the digits of a number without the zeros around them, and the power
// of ten of the last one. It is false for a power that is beyond counting.
func decimalOf(text string) (digits string, power int, ok bool) {
	mantissa, exponent, scaled := strings.Cut(strings.ToLower(strings.TrimLeft(strings.TrimSpace(text), "+-")), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	all := strings.TrimLeft(whole+fraction, "0")
	digits = strings.TrimRight(all, "0")
	if digits == "" {
		return "", 0, true
	}
	if scaled {
		var err error
		if power, err = strconv.Atoi(exponent); err != nil {
			return "", 0, false
		}
	}
	return digits, power - len(fraction) + len(all) - len(digits), true
}
