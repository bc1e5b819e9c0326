package expr

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"svc/domain/value"
)

// direction says whether a number with digits to drop goes away from zero.
type direction func(negative bool, first byte) bool

func roundHalf(_ bool, first byte) bool    { return first >= '5' }
func roundDown(negative bool, _ byte) bool { return negative }
func roundUp(negative bool, _ byte) bool   { return !negative }

// rounded makes round, floor and ceil. They work on the shortest decimal form,
// so that 1.005 is what it looks like.
func rounded(away direction) func(*callArgs) any {
	return func(c *callArgs) any {
		n, ok := c.arg(0).(float64)
		if !ok {
			return c.refuse("expected number, got " + value.TypeName(c.arg(0)))
		}
		decimals := c.integerArg(1, 0)
		if decimals < 0 || decimals > 15 {
			return c.refuse("decimals are 0 to 15")
		}
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return n
		}
		return roundDecimals(n, decimals, away)
	}
}

// exactDigits is the number of decimal digits that a float64 always holds exactly. Powers of ten up
// to that many are exact as well.
const exactDigits = 15

func roundDecimals(n float64, decimals int, away direction) float64 {
	negative := n < 0
	whole, fraction, _ := strings.Cut(strconv.FormatFloat(math.Abs(n), 'f', -1, 64), ".")
	if len(fraction) <= decimals {
		return n
	}
	if kept := whole + fraction[:decimals]; len(kept) <= exactDigits {
		digits, _ := strconv.ParseUint(kept, 10, 64)
		if away(negative, fraction[decimals]) {
			digits++
		}
		return math.Copysign(float64(digits)/math.Pow10(decimals), n) // both are exact, so the quotient is the nearest number
	}
	digits, _ := new(big.Int).SetString(whole+fraction[:decimals], 10)
	if away(negative, fraction[decimals]) {
		digits.Add(digits, big.NewInt(1))
	}
	text := digits.String()
	if missing := decimals + 1 - len(text); missing > 0 {
		text = strings.Repeat("0", missing) + text
	}
	cut := len(text) - decimals
	result, _ := strconv.ParseFloat(text[:cut]+"."+text[cut:], 64)
	if negative {
		return -result
	}
	return result
}

func abs(c *callArgs) any {
	n, ok := c.arg(0).(float64)
	if !ok {
		return c.refuse("expected number, got " + value.TypeName(c.arg(0)))
	}
	return math.Abs(n)
}

func number(c *callArgs) any {
	switch v := c.arg(0).(type) {
	case float64:
		return v
	case bool:
		return value.ToNumber(v)
	case string:
		if n, ok := value.ParseNumber(v); ok && c.spend(len(v)) {
			return n
		}
	}
	return value.Undefined
}

// minOrMax makes min and max.
func minOrMax(sign int) func(*callArgs) any {
	return func(c *callArgs) any {
		args := c.args
		if list, ok := c.arg(0).([]any); ok && len(args) == 1 {
			args = list
		}
		if len(args) == 0 || !c.spend(costOfItem*len(args)) {
			return value.Undefined
		}
		best := 0.0
		for i, arg := range args {
			n, ok := arg.(float64)
			if !ok {
				return c.refuse("expected numbers, got " + value.TypeName(arg))
			}
			if order, _ := value.Compare(n, best); i == 0 || order == sign || math.IsNaN(n) {
				best = n
			}
		}
		return best
	}
}

func rand(c *callArgs) any {
	if len(c.args) == 0 {
		return c.randomFloat()
	}
	a, b := c.integerArg(0, 0), c.integerArg(1, 0)
	if c.err == nil && (len(c.args) != 2 || slices.ContainsFunc(c.args, value.IsUndefined) || b <= a) {
		return c.refuse("expected two integers, the second larger")
	}
	if c.err != nil {
		return value.Undefined
	}
	return float64(a) + math.Floor(c.randomFloat()*float64(b-a))
}

// randomFloat returns a number from 0 up to, not including, 1.
func (c *callArgs) randomFloat() float64 {
	var bits uint64
	for _, b := range c.random(8) {
		bits = bits<<8 | uint64(b)
	}
	return float64(bits>>11) / (1 << 53)
}

func typeTest(kind string) func(*callArgs) any {
	return func(c *callArgs) any {
		n, number := c.arg(0).(float64)
		return value.TypeName(c.arg(0)) == kind && (!number || !math.IsNaN(n))
	}
}

// number reads digits with a fraction and an exponent.
func (p *parser) number() node {
	start := p.pos
	p.takeWhile(isDigit)
	if rest := p.rest(); len(rest) > 1 && rest[0] == '.' && isDigit(rune(rest[1])) {
		p.pos++
		p.takeWhile(isDigit)
	}
	if n := exponentLength(p.rest()); n > 0 {
		p.pos += n
		p.takeWhile(isDigit)
	}
	n, _ := strconv.ParseFloat(p.src[start:p.pos], 64) // out of range: an infinity
	return constant{n}
}

// exponentLength returns how long the beginning of an exponent is, up to its digits.
func exponentLength(s string) int {
	if s == "" || s[0] != 'e' && s[0] != 'E' {
		return 0
	}
	n := 1
	if len(s) > n && (s[n] == '+' || s[n] == '-') {
		n++
	}
	if len(s) > n && isDigit(rune(s[n])) {
		return n
	}
	return 0
}
