package access

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// Pattern compiles a regular expression (RE2) that somebody else chose, within
// the bounds of those in conditions: by its length, and by its size once its
// repetitions are written out. The error says what is wrong with it, without
// naming it.
func Pattern(text string) (*regexp.Regexp, error) {
	if utf8.RuneCountInString(text) > maxRegex {
		return nil, fmt.Errorf("must be a text of at most %d characters", maxRegex)
	}
	re, _, err := bounded(text, maxProgram)
	return re, err
}

// errTooLarge refuses a short text that stands for a long program.
var errTooLarge = errors.New("is too large once its repetitions are written out")

// bounded compiles an expression of at most so many instructions and returns how
// many it has. Its size is guessed before it is written out, and counted before
// it is compiled for good.
func bounded(expr string, limit int) (re *regexp.Regexp, instructions int, err error) {
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, 0, fmt.Errorf("is not a regular expression: %s", reason(err))
	}
	if atLeast(tree) > limit {
		return nil, 0, errTooLarge
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil || len(program.Inst) > limit {
		return nil, 0, errTooLarge
	}
	re, err = regexp.Compile(expr)
	return re, len(program.Inst), err
}

// reason returns what the parser found, of which only a part may be long.
func reason(err error) string {
	return cut(strings.TrimPrefix(err.Error(), "error parsing regexp: "), maxRegex)
}

// atLeast returns a number of instructions that an expression surely takes.
func atLeast(tree *syntax.Regexp) int {
	inner := 0
	for _, sub := range tree.Sub {
		inner += atLeast(sub)
	}
	switch tree.Op {
	case syntax.OpNoMatch, syntax.OpEmptyMatch:
		return 0
	case syntax.OpLiteral:
		return len(tree.Rune)
	case syntax.OpCapture:
		return inner + 2
	case syntax.OpConcat, syntax.OpAlternate, syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		return inner
	case syntax.OpRepeat:
		if tree.Max < 0 { // no end: written once at least
			return inner * max(tree.Min, 1)
		}
		return inner * tree.Max
	}
	return 1 // a class of characters, or a place
}

// pattern compiles $regex.
func (c *compiler) pattern(at string, v, options any) (re *regexp.Regexp, instructions int) {
	expr, ok := v.(string)
	flags, plain := options.(string)
	switch {
	case !ok || utf8.RuneCountInString(expr) > maxRegex:
		c.fault(at, "must be a text of at most %d characters", maxRegex)
		return nil, 0
	case options != nil && (!plain || strings.Trim(flags, "ims") != "" || len(flags) > 3):
		c.fault(at, "$options must be a text of the letters i, m and s")
		return nil, 0
	case placeholderPattern.MatchString(expr):
		c.fault(at, "must not hold a placeholder; use $eq or $in")
		return nil, 0
	case flags != "":
		expr = "(?" + flags + ")" + expr
	}
	re, instructions, err := bounded(expr, min(maxProgram, c.regex))
	if err != nil {
		c.fault(at, "%s", err)
		return nil, 0
	}
	c.regex -= instructions
	return re, instructions
}
