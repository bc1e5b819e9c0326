package expr

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"svc/domain/automation/value"
)

func split(c *calling) any {
	s, sep := c.onlyText(0), c.onlyText(1)
	if c.err != nil || !c.holds(2*(strings.Count(s, sep)+1)) {
		return value.Undefined
	}
	parts := strings.Split(s, sep)
	list := make([]any, len(parts))
	for i, part := range parts {
		list[i] = part
	}
	return list
}

func join(c *calling) any {
	list, ok := c.arg(0).([]any)
	if !ok {
		return c.refuse("expected list, got " + value.Kind(c.arg(0)))
	}
	sep := ","
	if !value.IsUndefined(c.arg(1)) {
		sep = c.onlyText(1)
	}
	if !c.works(len(list)) {
		return value.Undefined
	}
	parts := make([]string, len(list))
	for i, item := range list {
		parts[i] = c.evaluation.text(item)
		if !c.affords(len(sep)) {
			return value.Undefined
		}
	}
	return strings.Join(parts, sep)
}

func replace(c *calling) any {
	s, what, with := c.onlyText(0), c.onlyText(1), c.onlyText(2)
	if !c.affords(len(s) + len(with)) {
		return value.Undefined
	}
	return strings.Replace(s, what, with, 1)
}

func slice(c *calling) any {
	switch v := c.arg(0).(type) {
	case []any:
		from, to := c.bounds(len(v))
		if !c.holds(to - from) {
			return value.Undefined
		}
		return append([]any{}, v[from:to]...)
	case string:
		if !c.works(len(v)) {
			return value.Undefined
		}
		from, to := c.bounds(utf8.RuneCountInString(v))
		v = v[runesIn(v, from):]
		return v[:runesIn(v, to-from)]
	}
	return c.refuse("expected list or a string, got " + value.Kind(c.arg(0)))
}

// bounds returns the range that the second and third argument cut out of n.
func (c *calling) bounds(n int) (from, to int) {
	if value.IsUndefined(c.arg(1)) {
		c.refuse("expected an integer")
	}
	from, to = fromEnd(c.whole(1, 0), n), fromEnd(c.whole(2, n), n)
	return from, max(from, to)
}

// fromEnd counts a negative index from the end, within 0 and n.
func fromEnd(i, n int) int {
	if i < 0 {
		i += n
	}
	return min(max(i, 0), n)
}

func lower(c *calling) any { return c.changed(strings.ToLower) }

func upper(c *calling) any { return c.changed(strings.ToUpper) }

func (c *calling) changed(to func(string) string) any {
	s := c.anyText(0)
	if c.err != nil {
		return value.Undefined
	}
	return to(s)
}

func truncate(c *calling) any {
	s, n, suffix := c.anyText(0), c.whole(1, 100), "…"
	if n < 0 {
		return c.refuse("a length is not negative")
	}
	if !value.IsUndefined(c.arg(2)) {
		suffix = c.anyText(2)
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

func escapeHTML(c *calling) any {
	s, grown := c.anyText(0), 0
	for i := range len(s) {
		if strings.IndexByte(`&<>"'`, s[i]) >= 0 {
			grown += len("&quot;")
		}
	}
	if !c.affords(grown) {
		return value.Undefined
	}
	return strings.Map(func(r rune) rune {
		if r > 0xFFFF {
			return -1
		}
		return r
	}, entities.Replace(s))
}

func encodeBase64(c *calling) any {
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

func (c *calling) base64(s string) any {
	if !c.affords(base64.StdEncoding.EncodedLen(len(s))) {
		return value.Undefined
	}
	return base64.StdEncoding.EncodeToString([]byte(s))
}

func uuid(c *calling) any {
	b := append([]byte(nil), c.random(16)...)
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return hex.EncodeToString(b)
}
