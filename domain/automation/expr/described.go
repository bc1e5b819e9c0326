package expr

// Described is a function of the language as an editor shows it.
type Described struct {
	Name      string // as people write it; case does not matter
	Signature string
	Text      string
}

// Functions returns the functions of the language with what they do, for editors.
func Functions() []Described {
	return []Described{
		{"date", "date(x, format?, locale?, zone?)", "Milliseconds since 1970 of a date, or its text in a format. A part follows with a dot: date(x).year."},
		{"dateAdd", "dateAdd(x, n, unit)", "The date n units later."},
		{"elapsed", "elapsed(x, unit, n)", "Whether at least n units lie between x and now."},
		{"now", "now()", "The time now, in milliseconds since 1970."},
		{"rand", "rand(a?, b?)", "A random number from 0 to 1, or an integer from a up to, not including, b."},
		{"round", "round(n, decimals?)", "Rounds, half away from zero."},
		{"floor", "floor(n, decimals?)", "Rounds down."},
		{"ceil", "ceil(n, decimals?)", "Rounds up."},
		{"abs", "abs(n)", "Without its sign."},
		{"number", "number(x)", "The number that a text says; undefined when it says none."},
		{"min", "min(…)", "The least of numbers, or of a list."},
		{"max", "max(…)", "The greatest of numbers, or of a list."},
		{"isArray", "isArray(x)", "Whether it is a list."},
		{"isObject", "isObject(x)", "Whether it is an object."},
		{"isString", "isString(x)", "Whether it is a text."},
		{"isNumber", "isNumber(x)", "Whether it is a number."},
		{"split", "split(text, separator)", "The parts of a text."},
		{"join", "join(list, separator?)", "The items as one text, with commas between them."},
		{"replace", "replace(text, what, with)", "Replaces the first occurrence."},
		{"slice", "slice(x, start, end?)", "A part of a list or a text; negative positions count from the end."},
		{"lower", "lower(x)", "In lower case."},
		{"upper", "upper(x)", "In upper case."},
		{"truncate", "truncate(x, n?, suffix?)", "The first n characters, 100 without n."},
		{"sanitize", "sanitize(x)", "Safe to stand in HTML."}, //nolint:misspell // the contract's name
		{"base64", "base64(x)", "In base64."},
		{"uuid", "uuid()", "A random id."},
		{"json", "json(x)", "The value of a JSON text, or the JSON text of a value."},
		{"unsafejson", "unsafejson(text)", "The first JSON object or list in a text."},
		{"jsonmatch", "jsonmatch(x, query)", "Whether an object matches a query."},
		{"deepmerge", "deepmerge(a, b, options?)", "Both objects joined, b wins."},
		{"URL", "URL(text)", "The parts of an address: URL(x).hostname."},
		{"URLSearchParams", "URLSearchParams(x)", "A query as an object (.asJSON) or as text (.asString)."},
	}
}
