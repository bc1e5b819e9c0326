package expr

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"svc/domain/automation/value"
)

func split(c *calling) any {
	s, sep := c.text(0), c.text(1)
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
		return c.refuse("a list is expected, not " + value.Kind(c.arg(0)))
	}
	sep := ","
	if !value.IsUndefined(c.arg(1)) {
		sep = c.text(1)
	}
	parts := make([]string, len(list))
	for i, item := range list {
		parts[i] = value.Text(item)
		if !c.affords(len(parts[i]) + len(sep)) {
			return value.Undefined
		}
	}
	return strings.Join(parts, sep)
}

func replace(c *calling) any {
	s, what, with := c.text(0), c.text(1), c.text(2)
	if !c.affords(len(s) + len(with)) {
		return value.Undefined
	}
	return strings.Replace(s, what, with, 1)
}

func slice(c *calling) any {
	switch v := c.arg(0).(type) {
	case []any:
		from, to := c.bounds(len(v))
		return append([]any{}, v[from:to]...)
	case string:
		runes := []rune(v)
		from, to := c.bounds(len(runes))
		return string(runes[from:to])
	}
	return c.refuse("a list or a string is expected, not " + value.Kind(c.arg(0)))
}

// bounds returns the range that the second and third argument cut out of n.
func (c *calling) bounds(n int) (from, to int) {
	if value.IsUndefined(c.arg(1)) {
		c.refuse("an integer is expected")
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

func lower(c *calling) any { return strings.ToLower(c.texts(0)) }

func upper(c *calling) any { return strings.ToUpper(c.texts(0)) }

func truncate(c *calling) any {
	s, n, suffix := c.texts(0), c.whole(1, 100), "…"
	if n < 0 {
		return c.refuse("a length is not negative")
	}
	if !value.IsUndefined(c.arg(2)) {
		suffix = c.texts(2)
	}
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n]) + suffix
}

var entities = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")

func escapeHTML(c *calling) any {
	return strings.Map(func(r rune) rune {
		if r > 0xFFFF {
			return -1
		}
		return r
	}, entities.Replace(c.texts(0)))
}

func encodeBase64(c *calling) any {
	switch v := c.arg(0).(type) {
	case value.Bytes:
		return value.Text(v)
	case string:
		return base64.StdEncoding.EncodeToString([]byte(v))
	}
	if value.IsUndefined(c.arg(0)) {
		return value.Undefined
	}
	return base64.StdEncoding.EncodeToString([]byte(value.JSON(c.arg(0), "")))
}

func uuid(c *calling) any {
	b := append([]byte(nil), c.random(16)...)
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return hex.EncodeToString(b)
}
