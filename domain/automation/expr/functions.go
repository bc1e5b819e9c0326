package expr

import (
	"strings"

	"svc/domain/automation/value"
)

// function is a row of the table: how many arguments it takes and what it does.
// An argument that is absent is Undefined.
type function struct {
	least, most int // most < 0: any number
	do          func(c *calling) any
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
		"min":             {0, -1, extreme(-1)},
		"max":             {0, -1, extreme(1)},
		"isarray":         {0, 1, kindIs("array")},
		"isobject":        {0, 1, kindIs("object")},
		"isstring":        {0, 1, kindIs("string")},
		"isnumber":        {0, 1, kindIs("number")},
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
	do   func(c *calling) any
	args []node
}

// calling is one call under way.
type calling struct {
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
	if word, ok := only(args).(bare); ok && c.asks() {
		args[0] = variable(word) // the one place where a bare word is a variable
	}
	return c
}

// only returns the argument of a call that has one.
func only(args []node) node {
	if len(args) == 1 {
		return args[0]
	}
	return nil
}

// yieldsInstant reports whether the call yields an instant, whose parts can be read.
func (c call) yieldsInstant() bool {
	return c.name == "date" && len(c.args) == 1 || c.name == "now" || c.name == "dateadd"
}

// asks reports whether the function only asks what its argument is.
func (c call) asks() bool { return strings.HasPrefix(c.name, "is") }

func (c call) eval(e *evaluation) any {
	args := make([]any, len(c.args))
	for i, arg := range c.args {
		if c.asks() {
			args[i] = e.ask(arg)
		} else {
			args[i] = arg.eval(e)
		}
	}
	if e.err != nil {
		return value.Undefined
	}
	return c.do(&calling{e, c.name, args})
}

// arg returns an argument, Undefined when it is absent.
func (c *calling) arg(i int) any {
	if i < len(c.args) {
		return c.args[i]
	}
	return value.Undefined
}

// refuse ends the evaluation because of an argument.
func (c *calling) refuse(why string) any {
	c.fail(&Error{Name: SyntaxError, Message: c.name + ": " + why, Function: c.name})
	return value.Undefined
}

// onlyText returns an argument that must be a string. Whatever asks goes through it.
func (c *calling) onlyText(i int) string {
	s, ok := c.arg(i).(string)
	if !ok {
		c.refuse("expected string, got " + value.Kind(c.arg(i)))
	}
	c.works(len(s))
	return s
}

// anyText returns the text of any argument.
func (c *calling) anyText(i int) string { return c.evaluation.text(c.arg(i)) }

// whole returns an argument that must be an integer, or the default when it is
// absent.
func (c *calling) whole(i, otherwise int) int {
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
