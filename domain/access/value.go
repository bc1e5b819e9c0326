package access

import (
	"encoding/json"
	"regexp"
	"strings"
)

// A placeholder is a placeholder in an operand: what the caller puts there.
type placeholder uint8

const (
	sessionPlaceholder placeholder = iota
	userPlaceholder
	emailPlaceholder
	topicsPlaceholder
	unknownPlaceholder // a name that stands for nothing
	placeholderCount
)

// placeholders is a set of placeholders.
type placeholders uint8

// placeholders are the names by which a condition may speak of the caller.
var placeholderNames = map[string]placeholder{
	"{{session.id}}": sessionPlaceholder, "${user.sessionId}": sessionPlaceholder,
	"{{user.id}}": userPlaceholder, "${user.id}": userPlaceholder,
	"{{user.topics}}": topicsPlaceholder, "${user.topics}": topicsPlaceholder,
	"{{user.email}}": emailPlaceholder,
}

var (
	placeholderPattern = regexp.MustCompile(`\{\{\s*[A-Za-z][A-Za-z0-9_.]*\s*\}\}|\$\{\s*[A-Za-z][A-Za-z0-9_.]*\s*\}`)
	blanks             = strings.NewReplacer(" ", "", "\t", "", "\n", "", "\r", "")
)

// text is a string with placeholders: its parts are strings and holes.
type text []any

// value copies an operand, with placeholders where it has placeholders.
func (c *compiler) value(at string, v any, depth int) any {
	if c.values--; c.values < 0 {
		return nil
	}
	if depth > maxDepth {
		c.fault(at, "must not be nested deeper than %d", maxDepth)
		return nil
	}
	switch v := v.(type) {
	case nil, bool:
		return v
	case string:
		return c.text(v)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = c.value(at, item, depth+1)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, item := range v {
			object[key] = c.value(at, item, depth+1)
		}
		return object
	}
	n, ok := number(v)
	if !ok {
		c.fault(at, "must be a JSON value")
	}
	return n
}

// text returns s, or what it is once its placeholders are holes.
func (c *compiler) text(s string) any {
	found := placeholderPattern.FindAllStringIndex(s, -1)
	if found == nil {
		return s
	}
	var parts text
	end := 0
	for _, span := range found {
		if span[0] > end {
			parts = append(parts, s[end:span[0]])
		}
		h, ok := placeholderNames[blanks.Replace(s[span[0]:span[1]])]
		if whole := span[1]-span[0] == len(s); !ok || h == topicsPlaceholder && !whole {
			h = unknownPlaceholder // a list is no part of a text
		}
		c.needs |= 1 << h
		parts = append(parts, h)
		end = span[1]
	}
	if end < len(s) {
		parts = append(parts, s[end:])
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return parts
}

// list compiles an operand that must be a list, or stand for one.
func (c *compiler) list(at string, v any, depth int) any {
	arg := c.value(at, v, depth)
	_, ok := arg.([]any)
	if h, alone := arg.(placeholder); !ok && (!alone || h != topicsPlaceholder && h != unknownPlaceholder) && c.values >= 0 {
		c.fault(at, "must be a list")
	}
	return arg
}

// comparable compiles an operand that has an order.
func (c *compiler) comparable(at string, v any, depth int) any {
	arg := c.value(at, v, depth)
	switch arg.(type) {
	case float64, string, text, placeholder:
	default:
		c.fault(at, "must be a number or a text")
	}
	return arg
}

// number returns a JSON number in whatever type it came.
func number(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	case uint64:
		return float64(n), true
	case json.Number:
		f, err := n.Float64()
		return f, err == nil
	}
	return 0, false
}

// binding is what a caller puts into the holes.
type binding struct {
	values [placeholderCount]any
	filled placeholders
}

// bind returns the values of p. Having no topics is a list, as long as there is
// a user to have them.
func bind(p *Principal) (b binding) {
	set := func(h placeholder, value any, known bool) {
		if known {
			b.values[h] = value
			b.filled |= 1 << h
		}
	}
	set(sessionPlaceholder, p.SessionID, p.SessionID != "")
	set(userPlaceholder, p.UserID, p.UserID != "")
	set(emailPlaceholder, p.Email, p.Email != "")
	set(topicsPlaceholder, p.Topics, p.UserID != "")
	if p.Joined != nil {
		set(topicsPlaceholder, p.Joined, p.UserID != "")
	}
	return b
}

// fill returns an operand without a placeholder at its surface.
func (b *binding) fill(arg any) any {
	switch arg := arg.(type) {
	case placeholder:
		if ask, live := b.values[arg].(func() []string); live {
			return ask()
		}
		return b.values[arg]
	case text:
		var whole strings.Builder
		for _, part := range arg {
			known, _ := b.fill(part).(string)
			whole.WriteString(known)
		}
		return whole.String()
	}
	return arg
}
