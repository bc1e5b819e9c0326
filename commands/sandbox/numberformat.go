package sandbox

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/grafana/sobek"
)

// numberOptions checks and completes the options of Intl.NumberFormat. What is not offered is
// refused: a number in another form would look right.
func (b *builtins) numberOptions(call sobek.FunctionCall) sobek.Value {
	o := options{call.Argument(1).ToObject(b.vm), b}
	resolved := b.object("locale", call.Argument(0).String(), "numberingSystem", "latn")
	set := func(key string, v any) { _ = resolved.Set(key, v) } // a plain object takes everything
	style := o.text("style", "decimal", "decimal", "percent", "currency")
	set("style", style)
	o.text("notation", "standard", "standard")
	set("notation", "standard")
	defaultLeast, defaultMost := 0, 3
	switch style {
	case "percent":
		defaultMost = 0
	case "currency":
		code := strings.ToUpper(o.text("currency", ""))
		if len(code) != 3 || strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			panic(b.vm.NewTypeError("currency: expected the code of a currency, such as EUR"))
		}
		set("currency", code)
		set("currencyDisplay", o.text("currencyDisplay", "symbol", "symbol", "narrowSymbol", "code", "name"))
		o.text("currencySign", "standard", "standard")
		set("currencySign", "standard")
		defaultLeast = currencyDigits(code)
		defaultMost = defaultLeast
	}
	integers, given := o.number("minimumIntegerDigits", 1, 21)
	if !given {
		integers = 1
	}
	set("minimumIntegerDigits", integers)
	least, hasLeast := o.number("minimumSignificantDigits", 1, 21)
	most, hasMost := o.number("maximumSignificantDigits", 1, 21)
	if hasLeast || hasMost {
		least = max(least, 1)
		if !hasMost {
			most = 21
		}
		if least > most {
			b.throw(b.rangeError, "minimumSignificantDigits is larger than maximumSignificantDigits")
		}
		set("minimumSignificantDigits", least)
		set("maximumSignificantDigits", most)
	} else {
		least, hasLeast = o.number("minimumFractionDigits", 0, 100)
		most, hasMost = o.number("maximumFractionDigits", 0, 100)
		switch {
		case !hasLeast && !hasMost:
			least, most = defaultLeast, defaultMost
		case !hasMost:
			most = max(defaultMost, least)
		case !hasLeast:
			least = min(defaultLeast, most)
		case least > most:
			b.throw(b.rangeError, "minimumFractionDigits is larger than maximumFractionDigits")
		}
		set("minimumFractionDigits", least)
		set("maximumFractionDigits", most)
	}
	set("useGrouping", o.grouping())
	set("signDisplay", o.text("signDisplay", "auto", "auto", "always", "never", "exceptZero", "negative"))
	o.text("roundingMode", "halfExpand", "halfExpand")
	set("roundingMode", "halfExpand")
	return resolved
}

// grouping returns when digits are grouped: false, auto, always or min2.
func (o options) grouping() any {
	v := o.Get("useGrouping")
	if v == nil || sobek.IsUndefined(v) {
		return "auto"
	}
	switch given := v.Export().(type) {
	case string:
		if given == "true" || given == "false" {
			return "auto"
		}
		return o.text("useGrouping", "auto", "auto", "always", "min2")
	default:
		if !v.ToBoolean() {
			return false
		}
		return "always"
	}
}

// formatNumber returns the pieces of a number, or of an integer as text.
func (b *builtins) formatNumber(call sobek.FunctionCall) sobek.Value {
	o := options{call.Argument(1).ToObject(b.vm), b}
	f := numberFormat{options: o, locale: localeNamed(o.text("locale", "en")), tag: o.text("locale", "en"), style: o.text("style", "decimal")}
	if text, ok := call.Argument(0).Export().(string); ok {
		digits, negative := strings.CutPrefix(text, "-")
		return b.parts(f.written(digits, negative))
	}
	n := call.Argument(0).ToFloat()
	switch negative := math.Signbit(n); {
	case math.IsNaN(n):
		return b.parts(f.framed([]part{{"nan", "NaN"}}, false, false))
	case math.IsInf(n, 0):
		return b.parts(f.framed([]part{{"infinity", "∞"}}, negative, false))
	default:
		return b.parts(f.written(strconv.FormatFloat(math.Abs(n), 'f', -1, 64), negative))
	}
}

// numberFormat writes numbers with options that were completed.
type numberFormat struct {
	options
	locale locale
	tag    string
	style  string
}

// written returns the pieces of a decimal number.
func (f numberFormat) written(text string, negative bool) []part {
	if f.style == "percent" {
		text = timesHundred(text)
	}
	whole, fraction := f.rounded(text)
	zero := strings.Trim(whole+fraction, "0") == ""
	if n, _ := f.number("minimumIntegerDigits", 1, 21); len(whole) < n {
		whole = strings.Repeat("0", n-len(whole)) + whole
	}
	list := f.grouped(whole)
	if fraction != "" {
		list = append(list, part{"decimal", f.locale.decimal}, part{"fraction", fraction})
	}
	return f.framed(list, negative, zero)
}

// timesHundred moves the point of a decimal number.
func timesHundred(text string) string {
	whole, fraction, _ := strings.Cut(text, ".")
	fraction += "00"
	whole = strings.TrimLeft(whole+fraction[:2], "0")
	if fraction = strings.TrimRight(fraction[2:], "0"); fraction != "" {
		return cmp.Or(whole, "0") + "." + fraction
	}
	return cmp.Or(whole, "0")
}

// rounded returns the digits before and behind the point. Half is rounded away from zero, of
// the shortest text that the number has.
func (f numberFormat) rounded(text string) (whole, fraction string) {
	whole, fraction, _ = strings.Cut(text, ".")
	least, _ := f.number("minimumFractionDigits", 0, 100)
	most, byFraction := f.number("maximumFractionDigits", 0, 100)
	if byFraction {
		whole, fraction = roundAt(whole, fraction, most)
		fraction = strings.TrimRight(fraction, "0")
		return whole, fraction + strings.Repeat("0", max(0, least-len(fraction)))
	}
	leastDigits, _ := f.number("minimumSignificantDigits", 1, 21)
	digits, _ := f.number("maximumSignificantDigits", 1, 21)
	before := len(strings.TrimLeft(whole, "0"))
	decimals := digits - before // behind the point
	if before == 0 {
		decimals = digits + len(fraction) - len(strings.TrimLeft(fraction, "0"))
	}
	whole, fraction = roundAt(whole, fraction, decimals)
	fraction = strings.TrimRight(fraction, "0")
	significant := len(strings.TrimLeft(whole+fraction, "0"))
	if before > 0 {
		significant = len(strings.TrimLeft(whole, "0")) + len(fraction)
	}
	if strings.Trim(whole+fraction, "0") == "" {
		significant = 1
	}
	return whole, fraction + strings.Repeat("0", max(0, leastDigits-significant))
}

// roundAt keeps so many digits behind the point; below none, those are zeros before it.
func roundAt(whole, fraction string, decimals int) (string, string) {
	all := []byte(whole + fraction)
	cut := len(whole) + decimals
	if cut >= len(all) {
		return whole, fraction
	}
	up := cut >= 0 && all[cut] >= '5'
	cut = max(cut, 0)
	for i := cut; i < len(all); i++ {
		all[i] = '0'
	}
	for i := cut - 1; up && i >= 0; i-- {
		if up = all[i] == '9'; up {
			all[i] = '0'
		} else {
			all[i]++
		}
	}
	n := len(whole)
	if up {
		all = append([]byte{'1'}, all...)
		n++
	}
	return string(all[:n]), string(all[n:max(n, n+decimals)])
}

// grouped puts separators between groups of three digits.
func (f numberFormat) grouped(digits string) []part {
	least := f.locale.minGroup
	switch f.Get("useGrouping").Export() {
	case false:
		return []part{{"integer", digits}}
	case "always":
		least = 1
	case "min2":
		least = 2
	}
	if len(digits) < 3+least {
		return []part{{"integer", digits}}
	}
	var groups []string
	for len(digits) > 3 {
		groups = append(groups, digits[len(digits)-3:])
		digits = digits[:len(digits)-3]
	}
	list := []part{{"integer", digits}}
	for _, group := range slices.Backward(groups) {
		list = append(list, part{"group", f.locale.group}, part{"integer", group})
	}
	return list
}

// framed adds sign, percent and currency.
func (f numberFormat) framed(list []part, negative, zero bool) []part {
	var sign []part
	switch display := f.text("signDisplay", "auto"); {
	case display == "never", zero && (display == "exceptZero" || display == "negative"):
	case negative:
		sign = []part{{"minusSign", "-"}}
	case display == "always", display == "exceptZero":
		sign = []part{{"plusSign", "+"}}
	}
	switch f.style {
	case "percent":
		return slices.Concat(sign, list, []part{{"literal", f.locale.percent}, {"percentSign", "%"}})
	case "currency":
		return f.withCurrency(list, sign)
	}
	return slices.Concat(sign, list)
}

func (f numberFormat) withCurrency(list, sign []part) []part {
	code := f.text("currency", "")
	display := f.text("currencyDisplay", "symbol")
	symbol := []part{{"currency", currencySymbol(code, f.tag, display)}}
	space := []part{{"literal", "\u00a0"}}
	switch pattern := f.locale.currency; {
	case display == "name":
		return slices.Concat(sign, list, []part{{"literal", " "}}, symbol)
	case pattern == "# ¤":
		return slices.Concat(sign, list, space, symbol)
	case pattern == "¤#" && symbol[0].text != code && !endsInLetter(symbol[0].text):
		return slices.Concat(sign, symbol, list)
	case f.locale.negativeInside:
		return slices.Concat(symbol, space, sign, list)
	}
	return slices.Concat(sign, symbol, space, list)
}

// endsInLetter reports whether a symbol would run into the digits behind it.
func endsInLetter(symbol string) bool {
	return symbol != "" && strings.Trim(symbol[len(symbol)-1:], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == ""
}

// currencyDigits is how many digits a currency has behind the point.
func currencyDigits(code string) int {
	switch code {
	case "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "VND", "VUV", "XAF", "XOF", "XPF":
		return 0
	case "BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND":
		return 3
	}
	return 2
}

// currencySymbols are the symbols of currencies: in English, and in short where no other
// currency is meant.
var currencySymbols = map[string][2]string{
	"EUR": {"€", "€"}, "USD": {"$", "$"}, "GBP": {"£", "£"}, "JPY": {"¥", "¥"}, "CNY": {"CN¥", "¥"}, "INR": {"₹", "₹"}, "KRW": {"₩", "₩"},
	"BRL": {"R$", "R$"}, "CAD": {"CA$", "$"}, "AUD": {"A$", "$"}, "MXN": {"MX$", "$"}, "NZD": {"NZ$", "$"}, "HKD": {"HK$", "$"}, "ILS": {"₪", "₪"},
	"TWD": {"NT$", "$"}, "VND": {"₫", "₫"}, "XAF": {"FCFA", "FCFA"}, "XOF": {"F\u202fCFA", "F\u202fCFA"}, "XPF": {"CFPF", "CFPF"}, "PHP": {"₱", "₱"},
	"PLN": {"PLN", "zł"}, "SEK": {"SEK", "kr"}, "NOK": {"NOK", "kr"}, "DKK": {"DKK", "kr"}, "CZK": {"CZK", "Kč"}, "HUF": {"HUF", "Ft"}, "TRY": {"TRY", "₺"},
	"RUB": {"RUB", "₽"}, "UAH": {"UAH", "₴"},
}

// localSymbols are those that a language, or a country, writes in another way.
var localSymbols = map[string]map[string]string{
	"fr":    {"USD": "$US", "GBP": "£GB", "JPY": "JPY", "CAD": "$CA", "AUD": "$AU", "MXN": "$MX", "NZD": "$NZ", "HKD": "$HK", "CNY": "CN¥", "TWD": "TWD"},
	"de":    {"CAD": "CA$", "AUD": "AU$", "HKD": "HK$"},
	"es":    {"USD": "US$", "GBP": "GBP", "JPY": "JPY", "CAD": "CAD", "AUD": "AUD", "MXN": "MXN", "BRL": "BRL", "CNY": "CNY", "INR": "INR", "KRW": "KRW", "NZD": "NZD", "HKD": "HKD"},
	"it":    {"USD": "USD", "JPY": "JPY", "AUD": "A$", "BRL": "BRL", "CNY": "CN¥", "KRW": "₩", "HKD": "HKD", "MXN": "MXN", "NZD": "NZD"},
	"nl":    {"USD": "US$", "JPY": "JP¥", "CAD": "C$", "AUD": "AU$"},
	"pt":    {"USD": "US$", "JPY": "JP¥", "AUD": "AU$"},
	"en-GB": {"USD": "US$", "JPY": "JP¥"},
	"en-CA": {"CAD": "$", "USD": "US$"},
	"en-AU": {"AUD": "$", "USD": "USD"},
	"fr-CA": {"CAD": "$", "USD": "$\u00a0US"},
	"es-MX": {"MXN": "$", "USD": "USD"},
}

// currencySymbol is how a language writes a currency.
func currencySymbol(code, tag, display string) string {
	known, ok := currencySymbols[code]
	switch {
	case display == "code" || display == "name" || !ok: // the names of currencies are not known here
		return code
	case display == "narrowSymbol":
		return known[1]
	}
	return cmp.Or(localSymbols[tag][code], localSymbols[languageOf(tag)][code], known[0])
}
