package sandbox

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/grafana/sobek"
)

// locale is how a language writes numbers and dates. Names stand in one text, in order, weeks
// from Sunday. In the patterns of dates the letters are tokens: see dateformat.go.
type locale struct {
	group, decimal string
	minGroup       int    // digits before the first separator, from which on there are any
	percent        string // between a number and its %
	currency       string // "¤#" or "# ¤": a space is one that does not break
	negativeInside bool   // the minus stands at the number, behind the symbol of the currency

	months, shortMonths     string
	weekdays, shortWeekdays string

	numeric  string // day, month and year in digits
	monthDay string // day and month in digits
	yearMon  string // month and year in digits
	text     string // day, month and year with the name of the month
	textDay  string // day and month
	textYear string // month and year
	weekday  string // between a weekday and a date in digits
	textWeek string // between a weekday and a date with the name of the month
	short    string // dateStyle short
	medium   string // dateStyle medium
	twoDigit bool   // days and months in digits have two

	hour12 bool
	hour   string // H or HH: how hours of 24 are written
	at     string // between a date in digits and a time
	textAt string // between a date with the name of the month and a time, of dateStyle long and full
	hourOf string // what follows an hour that stands alone
}

// locales are those of the language of expressions, and what differs by country.
var locales = map[string]locale{
	"en": {
		",", ".", 1, "", "¤#", false,
		"January February March April May June July August September October November December",
		"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
		"Sunday Monday Tuesday Wednesday Thursday Friday Saturday", "Sun Mon Tue Wed Thu Fri Sat",
		"M/D/Y", "M/D", "M/Y", "N D, Y", "N D", "N Y", ", ", ", ", "M/D/YY", "n D, Y", false,
		true, "HH", ", ", " at ", "",
	},
	"en-gb": {
		",", ".", 1, "", "¤#", false,
		"January February March April May June July August September October November December",
		"Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec",
		"Sunday Monday Tuesday Wednesday Thursday Friday Saturday", "Sun Mon Tue Wed Thu Fri Sat",
		"D/M/Y", "D/M", "M/Y", "D N Y", "D N", "N Y", ", ", " ", "DD/MM/Y", "D n Y", true,
		false, "HH", ", ", " at ", "",
	},
	"fr": {
		"\u202f", ",", 1, "\u202f", "# ¤", false,
		"janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
		"janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.",
		"dimanche lundi mardi mercredi jeudi vendredi samedi", "dim. lun. mar. mer. jeu. ven. sam.",
		"D/M/Y", "D/M", "M/Y", "D N Y", "D N", "N Y", " ", " ", "DD/MM/Y", "D n Y", true,
		false, "HH", " ", " à ", " h",
	},
	"de": {
		".", ",", 1, "\u00a0", "# ¤", false,
		"Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
		"Jan. Feb. März Apr. Mai Juni Juli Aug. Sept. Okt. Nov. Dez.",
		"Sonntag Montag Dienstag Mittwoch Donnerstag Freitag Samstag", "So Mo Di Mi Do Fr Sa",
		"D.M.Y", "D.M.", "M/Y", "D. N Y", "D. N", "N Y", ", ", ", ", "DD.MM.YY", "DD.MM.Y", false,
		false, "HH", ", ", " um ", " Uhr",
	},
	"es": {
		".", ",", 2, "\u00a0", "# ¤", false,
		"enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
		"ene feb mar abr may jun jul ago sept oct nov dic",
		"domingo lunes martes miércoles jueves viernes sábado", "dom lun mar mié jue vie sáb",
		"D/M/Y", "D/M", "M/Y", "D de N de Y", "D de N", "N de Y", ", ", ", ", "D/M/YY", "D n Y", false,
		false, "H", ", ", ", ", "",
	},
	"it": {
		".", ",", 2, "", "# ¤", false,
		"gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
		"gen feb mar apr mag giu lug ago set ott nov dic",
		"domenica lunedì martedì mercoledì giovedì venerdì sabato", "dom lun mar mer gio ven sab",
		"D/M/Y", "D/M", "M/Y", "D N Y", "D N", "N Y", " ", " ", "DD/MM/YY", "D n Y", false,
		false, "HH", ", ", " alle ore ", "",
	},
	"nl": {
		".", ",", 1, "", "¤ #", true,
		"januari februari maart april mei juni juli augustus september oktober november december",
		"jan feb mrt apr mei jun jul aug sep okt nov dec",
		"zondag maandag dinsdag woensdag donderdag vrijdag zaterdag", "zo ma di wo do vr za",
		"D-M-Y", "D-M", "M-Y", "D N Y", "D N", "N Y", " ", " ", "DD-MM-Y", "D n Y", false,
		false, "HH", ", ", " om ", "",
	},
	"pt": {
		".", ",", 1, "", "¤ #", false,
		"janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
		"jan. fev. mar. abr. mai. jun. jul. ago. set. out. nov. dez.",
		"domingo segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado", "dom. seg. ter. qua. qui. sex. sáb.",
		"D/M/Y", "D/M", "M/Y", "D de N de Y", "D de N", "N de Y", ", ", ", ", "DD/MM/Y", "D de n de Y", true,
		false, "HH", ", ", " às ", "",
	},
}

var localeTag = regexp.MustCompile(`^([A-Za-z]{2,3})(?:[-_][A-Za-z]{4})?(?:[-_]([A-Za-z]{2}|[0-9]{3}))?(?:[-_].*)?$`)

// canonicalLocale returns a tag as it is written, "" for what is none.
func canonicalLocale(tag string) string {
	m := localeTag.FindStringSubmatch(tag)
	switch {
	case m == nil:
		return ""
	case m[2] == "":
		return strings.ToLower(m[1])
	}
	return strings.ToLower(m[1]) + "-" + strings.ToUpper(m[2])
}

// languageOf returns the language of a canonical tag.
func languageOf(tag string) string { language, _, _ := strings.Cut(tag, "-"); return language }

func isKnownLanguage(language string) bool { _, ok := locales[language]; return ok }

// asInBritain are the countries that write English dates as Britain does.
var asInBritain = []string{"en-GB", "en-IE", "en-AU", "en-NZ", "en-IN", "en-ZA"}

// localeNamed returns how a canonical tag writes numbers and dates. Languages that are not
// known write as English does.
func localeNamed(tag string) locale {
	l := locales["en"]
	switch {
	case slices.Contains(asInBritain, tag):
		l = locales["en-gb"]
	case isKnownLanguage(languageOf(tag)):
		l = locales[languageOf(tag)]
	}
	switch tag {
	case "de-CH":
		l.group, l.decimal, l.currency, l.percent, l.negativeInside = "’", ".", "¤ #", "", true
	case "de-AT":
		l.group, l.currency, l.minGroup = "\u00a0", "¤ #", 1
	case "pt-PT":
		l.group, l.currency, l.minGroup = "\u00a0", "# ¤", 2
	case "es-MX":
		l.group, l.decimal, l.currency, l.minGroup = ",", ".", "¤#", 1
	case "fr-CH":
		l.currency = "# ¤"
	case "fr-CA":
		l.group = "\u00a0"
	}
	return l
}

// localeOf returns the first known of several tags, en when there is none.
func (b *builtins) localeOf(call sobek.FunctionCall) sobek.Value {
	found := ""
	for _, given := range call.Arguments {
		tag := canonicalLocale(given.String())
		if tag == "" {
			b.throw(b.rangeError, "Incorrect locale information provided: %s", given.String())
		}
		if isKnownLanguage(languageOf(tag)) {
			found = cmp.Or(found, tag)
		}
	}
	return b.vm.ToValue(cmp.Or(found, "en"))
}

func (b *builtins) isSupported(call sobek.FunctionCall) sobek.Value {
	return b.vm.ToValue(isKnownLanguage(languageOf(canonicalLocale(call.Argument(0).String()))))
}

// options are what a formatter is given, or has made of that.
type options struct {
	*sobek.Object
	of *builtins
}

// text returns an option that is one of several texts; what is absent has its default.
func (o options) text(key, otherwise string, known ...string) string {
	v := o.Get(key)
	if v == nil || sobek.IsUndefined(v) {
		return otherwise
	}
	given := v.String()
	if len(known) > 0 && !slices.Contains(known, given) {
		o.of.throw(o.of.rangeError, "%s: %q is not known here; there are %s", key, given, strings.Join(known, ", "))
	}
	return given
}

// number returns an option that is an integer within bounds; ok is false when it is absent.
func (o options) number(key string, least, most int) (n int, ok bool) {
	v := o.Get(key)
	if v == nil || sobek.IsUndefined(v) {
		return 0, false
	}
	f := v.ToFloat()
	if !(f >= float64(least) && f <= float64(most)) {
		o.of.throw(o.of.rangeError, "%s: expected a number from %d to %d", key, least, most)
	}
	return int(f), true
}

// part is a piece of a formatted value.
type part struct{ kind, text string }

// parts are pieces as formatToParts returns them.
func (b *builtins) parts(list []part) sobek.Value {
	all := make([]any, 0, len(list))
	for _, p := range list {
		if p.text != "" {
			all = append(all, b.object("type", p.kind, "value", p.text))
		}
	}
	return b.vm.NewArray(all...)
}
