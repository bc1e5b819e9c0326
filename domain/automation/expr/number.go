package expr

import "strconv"

// number reads digits with a fraction and an exponent.
func (p *parser) number() node {
	start := p.pos
	p.while(isDigit)
	if rest := p.rest(); len(rest) > 1 && rest[0] == '.' && isDigit(rune(rest[1])) {
		p.pos++
		p.while(isDigit)
	}
	if n := exponent(p.rest()); n > 0 {
		p.pos += n
		p.while(isDigit)
	}
	n, _ := strconv.ParseFloat(p.src[start:p.pos], 64) // out of range: an infinity
	return constant{n}
}

// exponent returns how long the beginning of an exponent is, up to its digits.
func exponent(s string) int {
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
