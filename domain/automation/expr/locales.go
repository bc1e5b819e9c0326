package expr

// locale is how a language writes dates. Names stand in one text, in order,
// weeks from Sunday.
type locale struct {
	time    string // LT
	day     string // L
	text    string // LL
	at      string // between LL and LT
	weekday string // before LL in LLLL

	months, shortMonths                  string
	weekdays, shortWeekdays, minWeekdays string
}

var locales = map[string]locale{
	"en": {
		"h:mm A", "MM/DD/YYYY", "MMMM D, YYYY", " ", "dddd, ",
		"January February March April May June July August September October November December",
		"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
		"Sunday Monday Tuesday Wednesday Thursday Friday Saturday",
		"Sun Mon Tue Wed Thu Fri Sat", "Su Mo Tu We Th Fr Sa",
	},
	"fr": {
		"HH:mm", "DD/MM/YYYY", "D MMMM YYYY", " ", "dddd ",
		"janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
		"janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.",
		"dimanche lundi mardi mercredi jeudi vendredi samedi",
		"dim. lun. mar. mer. jeu. ven. sam.", "di lu ma me je ve sa",
	},
	"de": {
		"HH:mm", "DD.MM.YYYY", "D. MMMM YYYY", " ", "dddd, ",
		"Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
		"Jan. Feb. März Apr. Mai Juni Juli Aug. Sept. Okt. Nov. Dez.",
		"Sonntag Montag Dienstag Mittwoch Donnerstag Freitag Samstag",
		"So. Mo. Di. Mi. Do. Fr. Sa.", "So Mo Di Mi Do Fr Sa",
	},
	"es": {
		"H:mm", "DD/MM/YYYY", "D [de] MMMM [de] YYYY", " ", "dddd, ",
		"enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
		"ene feb mar abr may jun jul ago sep oct nov dic",
		"domingo lunes martes miércoles jueves viernes sábado",
		"dom. lun. mar. mié. jue. vie. sáb.", "do lu ma mi ju vi sá",
	},
	"it": {
		"HH:mm", "DD/MM/YYYY", "D MMMM YYYY", " ", "dddd ",
		"gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
		"gen feb mar apr mag giu lug ago set ott nov dic",
		"domenica lunedì martedì mercoledì giovedì venerdì sabato",
		"dom lun mar mer gio ven sab", "do lu ma me gi ve sa",
	},
	"nl": {
		"HH:mm", "DD-MM-YYYY", "D MMMM YYYY", " ", "dddd ",
		"januari februari maart april mei juni juli augustus september oktober november december",
		"jan feb mrt apr mei jun jul aug sep okt nov dec",
		"zondag maandag dinsdag woensdag donderdag vrijdag zaterdag",
		"zo. ma. di. wo. do. vr. za.", "zo ma di wo do vr za",
	},
	"pt": {
		"HH:mm", "DD/MM/YYYY", "D [de] MMMM [de] YYYY", " [às] ", "dddd, ",
		"janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
		"jan fev mar abr mai jun jul ago set out nov dez",
		"domingo segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado",
		"dom seg ter qua qui sex sab", "Do 2ª 3ª 4ª 5ª 6ª Sa",
	},
}
