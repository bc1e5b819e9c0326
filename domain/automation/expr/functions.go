package expr

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/url"
	"strings"
	"unicode/utf8"

	"svc/domain/value"
)

// function is a row of the table: how many arguments it takes and what it does.
// An argument that is absent is Undefined.
type function struct {
	least, most int // most < 0: any number
	do          func(c *callArgs) any
}

// functions are those of the language, by their names in lower case.
func functions() map[string]function {
	return map[string]function{
		"date":            {1, 4, date},
		"dateadd":         {3, 3, dateAdd},
		"elapsed":         {3, 3, elapsed},
		"now":             {0, 0, now},
		"rand":            {0, 2, rand},
		"round":           {1, 2, rounded(roundHalf)},
		"floor":           {1, 2, rounded(roundDown)},
		"ceil":            {1, 2, rounded(roundUp)},
		"abs":             {1, 1, abs},
		"number":          {1, 1, number},
		"min":             {0, -1, minOrMax(-1)},
		"max":             {0, -1, minOrMax(1)},
		"isarray":         {0, 1, typeTest("array")},
		"isobject":        {0, 1, typeTest("object")},
		"isstring":        {0, 1, typeTest("string")},
		"isnumber":        {0, 1, typeTest("number")},
		"split":           {2, 2, split},
		"join":            {1, 2, join},
		"replace":         {3, 3, replace},
		"slice":           {2, 3, slice},
		"lower":           {1, 1, lower},
		"upper":           {1, 1, upper},
		"truncate":        {1, 3, truncate},
		"sanitize":        {1, 1, escapeHTML}, //nolint:misspell // the contract's name
		"base64":          {1, 1, encodeBase64},
		"uuid":            {0, 0, uuid},
		"json":            {1, 1, jsonText},
		"unsafejson":      {1, 1, unsafeJSON},
		"jsonmatch":       {2, 2, jsonMatch},
		"deepmerge":       {2, 3, deepMerge},
		"url":             {1, 1, parseURL},
		"urlsearchparams": {1, 1, searchParams},
	}
}

// known is the table, made once.
var known = functions()

// call is a function with its arguments.
type call struct {
	name string // in lower case
	do   func(c *callArgs) any
	args []node
}

// callArgs are the arguments of one call.
type callArgs struct {
	*evaluation
	name string
	args []any
}

// call reads a function and its arguments. Those that are unknown, and a wrong
// number of arguments, are faults of the text.
func (p *parser) call(word string) node {
	start := p.pos
	name := strings.ToLower(word)
	p.pos += len(word) + 1
	args := p.arguments(")")
	f, ok := known[name]
	switch {
	case p.err != nil:
		return constant{}
	case !ok:
		p.failAt(start, SyntaxError, "unknown function %s", word)
	case len(args) < f.least:
		p.failAt(start, SyntaxError, "%s needs at least %d arguments", word, f.least)
	case f.most >= 0 && len(args) > f.most:
		p.failAt(start, SyntaxError, "%s takes at most %d arguments", word, f.most)
	}
	if p.err == nil && name == "jsonmatch" {
		p.checkFixedMatcher(start, args[1])
	}
	if p.err != nil {
		p.err.Function = word
	}
	c := call{name, f.do, args}
	if word, ok := onlyArgument(args).(bareWord); ok && c.isTypeTest() {
		args[0] = variable(word) // the one place where a bare word is a variable
	}
	return c
}

// onlyArgument returns the argument of a call that has one.
func onlyArgument(args []node) node {
	if len(args) == 1 {
		return args[0]
	}
	return nil
}

// yieldsInstant reports whether the call yields an instant, whose parts can be read.
func (c call) yieldsInstant() bool {
	return c.name == "date" && len(c.args) == 1 || c.name == "now" || c.name == "dateadd"
}

// isTypeTest reports whether the function only asks what its argument is.
func (c call) isTypeTest() bool { return strings.HasPrefix(c.name, "is") }

func (c call) eval(e *evaluation) any {
	args := make([]any, len(c.args))
	for i, arg := range c.args {
		if c.isTypeTest() {
			args[i] = e.evalOptional(arg)
		} else {
			args[i] = arg.eval(e)
		}
	}
	if e.err != nil {
		return value.Undefined
	}
	return c.do(&callArgs{e, c.name, args})
}

// arg returns an argument, Undefined when it is absent.
func (c *callArgs) arg(i int) any {
	if i < len(c.args) {
		return c.args[i]
	}
	return value.Undefined
}

// refuse ends the evaluation because of an argument.
func (c *callArgs) refuse(why string) any {
	c.fail(&Error{Name: SyntaxError, Message: c.name + ": " + why, Function: c.name})
	return value.Undefined
}

// stringArg returns an argument that must be a string. Whatever asks goes through it.
func (c *callArgs) stringArg(i int) string {
	s, ok := c.arg(i).(string)
	if !ok {
		c.refuse("expected string, got " + value.TypeName(c.arg(i)))
	}
	c.spend(len(s))
	return s
}

// textArg returns the text of any argument.
func (c *callArgs) textArg(i int) string { return c.evaluation.text(c.arg(i)) }

// integerArg returns an argument that must be an integer, or the default when it is
// absent.
func (c *callArgs) integerArg(i, otherwise int) int {
	v := c.arg(i)
	if value.IsUndefined(v) {
		return otherwise
	}
	n, ok := v.(float64)
	if !ok || n != float64(int(n)) || n > 1e15 || n < -1e15 {
		c.refuse("expected an integer")
		return otherwise
	}
	return int(n)
}

// FunctionDoc is a function of the language as an editor shows it.
type FunctionDoc struct {
	Name      string // as people write it; case does not matter
	Signature string
	Text      string
}

// Functions returns the functions of the language with what they do, for editors.
func Functions() []FunctionDoc {
	return []FunctionDoc{
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

func jsonText(c *callArgs) any {
	s, ok := c.arg(0).(string)
	if !ok {
		if value.IsUndefined(c.arg(0)) {
			return value.Undefined
		}
		return c.json(c.arg(0))
	}
	if !c.spendText(len(s)) {
		return value.Undefined
	}
	v, err := value.ParseJSON(s)
	if err != nil {
		return c.refuse("not valid JSON: " + err.Error())
	}
	return c.parseJSON(v)
}

// parseJSON returns what JSON says, paid for by the memory that it takes: few bytes may become
// many values.
func (c *callArgs) parseJSON(v any) any {
	scale := value.MemoryMeter{Limit: MaxSpent}
	if scale.Add(v); !c.spend(scale.Weight) {
		return value.Undefined
	}
	return v
}

// unsafeJSON looks for the first complete object or array in a text.
func unsafeJSON(c *callArgs) any {
	s, ok := c.arg(0).(string)
	if !ok {
		return c.arg(0)
	}
	for start := 0; ; start++ {
		n := strings.IndexAny(s[start:], "{[")
		if n < 0 {
			return value.Undefined
		}
		start += n
		if !c.spend(len(s) - start) {
			return value.Undefined
		}
		v, _, err := value.FirstJSON(s[start:])
		if err == nil {
			return c.parseJSON(v)
		}
		if errors.Is(err, value.ErrMany) {
			return c.refuse(err.Error())
		}
	}
}

// costOfTest is what it costs to read a part of a condition.
const costOfTest = 100

func jsonMatch(c *callArgs) any {
	cond, ok := c.arg(1).(*value.Object)
	if !ok {
		return c.refuse("the condition must be an object")
	}
	if !c.spend(costOfTest * value.CountParts(cond, MaxSpent)) {
		return value.Undefined
	}
	m, err := compileMatcher(cond, false, c.evaluation)
	if err != nil {
		return c.refuse(err.Error())
	}
	target, ok := c.arg(0).(*value.Object)
	if !ok {
		return false
	}
	return m.match(c.evaluation, target)
}

func deepMerge(c *callArgs) any {
	join := value.IsTruthy(value.At(c.arg(2), "concatStrings"))
	return c.mergeValues(c.arg(0), c.arg(1), join)
}

func (c *callArgs) mergeValues(a, b any, join bool) any {
	if value.IsNothing(b) {
		return a
	}
	switch b := b.(type) {
	case *value.Object:
		if a, ok := a.(*value.Object); ok && c.spendItems(a.Len()+b.Len()) {
			made := a.Copy()
			for _, key := range b.Keys() {
				made.Set(key, c.mergeValues(a.At(key), b.At(key), join))
			}
			return made
		}
	case []any:
		if a, ok := a.([]any); ok && c.spendItems(len(a)+len(b)) {
			return append(append([]any{}, a...), b...)
		}
	case string:
		if a, ok := a.(string); ok && join && c.spendText(len(a)+len(b)) {
			return a + b
		}
	}
	return b
}

func split(c *callArgs) any {
	s, sep := c.stringArg(0), c.stringArg(1)
	if c.err != nil || !c.spendItems(2*(strings.Count(s, sep)+1)) {
		return value.Undefined
	}
	parts := strings.Split(s, sep)
	list := make([]any, len(parts))
	for i, part := range parts {
		list[i] = part
	}
	return list
}

func join(c *callArgs) any {
	list, ok := c.arg(0).([]any)
	if !ok {
		return c.refuse("expected list, got " + value.TypeName(c.arg(0)))
	}
	sep := ","
	if !value.IsUndefined(c.arg(1)) {
		sep = c.stringArg(1)
	}
	if !c.spend(len(list)) {
		return value.Undefined
	}
	parts := make([]string, len(list))
	for i, item := range list {
		parts[i] = c.evaluation.text(item)
		if !c.spendText(len(sep)) {
			return value.Undefined
		}
	}
	return strings.Join(parts, sep)
}

func replace(c *callArgs) any {
	s, what, with := c.stringArg(0), c.stringArg(1), c.stringArg(2)
	if !c.spendText(len(s) + len(with)) {
		return value.Undefined
	}
	return strings.Replace(s, what, with, 1)
}

func slice(c *callArgs) any {
	switch v := c.arg(0).(type) {
	case []any:
		from, to := c.sliceRange(len(v))
		if !c.spendItems(to - from) {
			return value.Undefined
		}
		return append([]any{}, v[from:to]...)
	case string:
		if !c.spend(len(v)) {
			return value.Undefined
		}
		from, to := c.sliceRange(utf8.RuneCountInString(v))
		v = v[runesIn(v, from):]
		return v[:runesIn(v, to-from)]
	}
	return c.refuse("expected list or a string, got " + value.TypeName(c.arg(0)))
}

// sliceRange returns the range that the second and third argument cut out of n.
func (c *callArgs) sliceRange(n int) (from, to int) {
	if value.IsUndefined(c.arg(1)) {
		c.refuse("expected an integer")
	}
	from, to = resolveIndex(c.integerArg(1, 0), n), resolveIndex(c.integerArg(2, n), n)
	return from, max(from, to)
}

// resolveIndex counts a negative index from the end, within 0 and n.
func resolveIndex(i, n int) int {
	if i < 0 {
		i += n
	}
	return min(max(i, 0), n)
}

func lower(c *callArgs) any { return c.mapText(strings.ToLower) }

func upper(c *callArgs) any { return c.mapText(strings.ToUpper) }

func (c *callArgs) mapText(to func(string) string) any {
	s := c.textArg(0)
	if c.err != nil {
		return value.Undefined
	}
	return to(s)
}

func truncate(c *callArgs) any {
	s, n, suffix := c.textArg(0), c.integerArg(1, 100), "…"
	if n < 0 {
		return c.refuse("a length is not negative")
	}
	if !value.IsUndefined(c.arg(2)) {
		suffix = c.textArg(2)
	}
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return s[:runesIn(s, n)] + suffix
}

// runesIn returns how many bytes the first n characters of s take.
func runesIn(s string, n int) int {
	for i := range s {
		if n--; n < 0 {
			return i
		}
	}
	return len(s)
}

var entities = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")

func escapeHTML(c *callArgs) any {
	s, delta := c.textArg(0), 0
	for i := range len(s) {
		if strings.IndexByte(`&<>"'`, s[i]) >= 0 {
			delta += len("&quot;")
		}
	}
	if !c.spendText(delta) {
		return value.Undefined
	}
	return strings.Map(func(r rune) rune {
		if r > 0xFFFF {
			return -1
		}
		return r
	}, entities.Replace(s))
}

func encodeBase64(c *callArgs) any {
	switch v := c.arg(0).(type) {
	case value.Bytes:
		return c.evaluation.text(v)
	case string:
		return c.base64(v)
	}
	if value.IsUndefined(c.arg(0)) {
		return value.Undefined
	}
	return c.base64(c.json(c.arg(0)))
}

func (c *callArgs) base64(s string) any {
	if !c.spendText(base64.StdEncoding.EncodedLen(len(s))) {
		return value.Undefined
	}
	return base64.StdEncoding.EncodeToString([]byte(s))
}

func uuid(c *callArgs) any {
	b := append([]byte(nil), c.random(16)...)
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return hex.EncodeToString(b)
}

// parseURL returns the parts of an absolute address.
func parseURL(c *callArgs) any {
	s, ok := c.arg(0).(string)
	if !ok || !c.spendText(len(s)) {
		return value.Undefined
	}
	return URL(s)
}

// URL returns the parts of an absolute address as browsers name them, Undefined
// when it is none.
func URL(s string) any {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || !u.IsAbs() || u.Opaque == "" && u.Host == "" && u.Scheme != "file" {
		return value.Undefined
	}
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	port := u.Port()
	if port == defaultPorts[scheme] {
		host, port = strings.ToLower(strings.TrimSuffix(u.Host, ":"+u.Port())), ""
	}
	pathname := u.Opaque
	if pathname == "" {
		pathname = u.EscapedPath()
	}
	_, web := defaultPorts[scheme]
	if pathname == "" && web {
		pathname = "/"
	}
	origin := "null"
	if web {
		origin = scheme + "://" + host
	}
	password, _ := u.User.Password()
	search, hash := prefixed("?", u.RawQuery), prefixed("#", u.EscapedFragment())
	return value.NewObject(
		"href", href(u, scheme, host)+pathname+search+hash, "origin", origin, "protocol", scheme+":",
		"username", u.User.Username(), "password", password,
		"host", host, "hostname", strings.TrimSuffix(host, prefixed(":", port)), "port", port,
		"pathname", pathname, "search", search, "searchParams", queryObject(u.RawQuery), "hash", hash,
	)
}

var defaultPorts = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}

func href(u *url.URL, scheme, host string) string {
	if u.Opaque != "" {
		return scheme + ":"
	}
	if u.User != nil {
		return scheme + "://" + u.User.String() + "@" + host
	}
	return scheme + "://" + host
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// searchParams returns the methods of URLSearchParams for its argument.
func searchParams(c *callArgs) any {
	switch v := c.arg(0).(type) {
	case string:
		v = strings.TrimPrefix(v, "?")
		if !c.spendText(len(v)) {
			return value.Undefined
		}
		var pairs [][2]string
		eachPair(v, func(key, text string) { pairs = append(pairs, [2]string{key, text}) })
		return value.NewObject("asJSON", queryObject(v), "asString", c.query(pairs))
	case *value.Object:
		return value.NewObject("asString", c.query(c.pairsOf(v)))
	}
	return &value.Object{}
}

// query returns the text of a query and charges the budget.
func (c *callArgs) query(pairs [][2]string) string {
	text := queryText(pairs)
	if !c.spendText(len(text)) {
		return ""
	}
	return text
}

func (c *callArgs) pairsOf(o *value.Object) [][2]string {
	var pairs [][2]string
	for _, key := range o.Keys() {
		items, ok := o.At(key).([]any)
		if !ok {
			items = []any{o.At(key)}
		}
		for _, item := range items {
			pairs = append(pairs, [2]string{key, c.evaluation.text(item)})
		}
	}
	return pairs
}

// queryObject reads a query; a repeated key keeps the last value.
func queryObject(query string) *value.Object {
	o := &value.Object{}
	eachPair(query, func(key, text string) { o.Set(key, text) })
	return o
}

func eachPair(query string, do func(key, text string)) {
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		key, text, _ := strings.Cut(pair, "=")
		do(unescape(key), unescape(text))
	}
}

// unescape decodes what it can and leaves the rest as it is.
func unescape(s string) string {
	if decoded, err := url.QueryUnescape(s); err == nil {
		return decoded
	}
	return s
}

func queryText(pairs [][2]string) string {
	parts := make([]string, len(pairs))
	for i, pair := range pairs {
		parts[i] = formEscape(pair[0]) + "=" + formEscape(pair[1])
	}
	return strings.Join(parts, "&")
}

// formEscape encodes as HTML forms do, which differs from Go in two characters.
func formEscape(s string) string {
	return strings.NewReplacer("%2A", "*", "~", "%7E").Replace(url.QueryEscape(s))
}
