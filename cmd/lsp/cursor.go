package lsp

import (
	"slices"
	"strings"
)

// step is one part of the path to a place in a document: a key, or an item of a list.
type step struct {
	key  string
	item bool
}

// cursor is the place of the cursor in the structure of a document. It is found by indentation, so that also a
// document can be asked about that is no YAML while somebody types.
type cursor struct {
	// path leads to the mapping in which a key is typed, or to the value that is typed.
	path []step
	// canBeKey and canBeValue say what can be typed: an item of a list may be a value, or begin a mapping.
	canBeKey, canBeValue bool
	typed                string // of the key or the value, up to the cursor
	start, end           int    // the bytes of the whole key or value, without quotes
	column               int    // of the key, in bytes; -1 in flow style
	siblings             []string
	hasColon             bool // the key is followed by its colon
	inBlock              bool // in the lines of a text after | or >
}

// entry is a dash or a key of a line.
type entry struct {
	column int
	dash   bool
	key    string
	value  string // after the colon or the dash
}

// beginsText reports whether the lines below are a text.
func (e entry) beginsText() bool {
	return strings.HasPrefix(e.value, "|") || strings.HasPrefix(e.value, ">")
}

// entries returns the dashes and the key that a line begins with, and where the rest begins.
func entries(line string) (all []entry, rest int) {
	at := len(line) - len(strings.TrimLeft(line, " "))
	for at < len(line) && line[at] == '-' && (at+1 == len(line) || line[at+1] == ' ') {
		all = append(all, entry{column: at, dash: true})
		at++
		for at < len(line) && line[at] == ' ' {
			at++
		}
	}
	if at >= len(line) || line[at] == '#' {
		return all, at
	}
	if colon := colonAfterKey(line[at:]); colon >= 0 {
		value := strings.TrimLeft(line[at+colon+1:], " \t")
		all = append(all, entry{column: at, key: unquote(strings.TrimSpace(line[at : at+colon])), value: value})
		return all, len(line) - len(value)
	}
	if len(all) > 0 {
		all[len(all)-1].value = line[at:]
	}
	return all, at
}

// unquote removes the quotes of a key or a value.
func unquote(s string) string {
	if len(s) > 1 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// findCursor returns the place of a byte in the structure of a document.
func findCursor(t text, offset int, isJSON bool) cursor {
	n := t.position(offset).Line
	line, begin := t.line(n), t.lines[n]
	at := offset - begin
	if isJSON {
		return t.flow(0, offset, nil)
	}
	all, rest := entries(line)
	if len(all) > 0 && !all[len(all)-1].dash {
		last := all[len(all)-1]
		c := t.around(n, all[:len(all)-1], last.column)
		switch keyEnd := last.column + colonAfterKey(line[last.column:]); {
		case c.inBlock:
			return c.word(t, begin+last.column, offset)
		case at <= keyEnd:
			c.canBeKey, c.hasColon, c.siblings = true, true, t.siblings(n, last.column)
			return c.word(t, begin+last.column, offset)
		}
		c.path = append(c.path, step{key: last.key})
		if last.value != "" && strings.IndexByte("{[", last.value[0]) >= 0 && at > rest {
			return t.flow(begin+rest, offset, c.path)
		}
		c.canBeValue = true
		return c.word(t, begin+min(rest, at), offset)
	}
	column := min(rest, at)
	if strings.TrimSpace(line) == "" {
		column = at
	}
	c := t.around(n, slices.DeleteFunc(all, func(e entry) bool { return e.column >= at }), column)
	switch {
	case c.inBlock:
	case rest < len(line) && strings.IndexByte("{[", line[rest]) >= 0 && at > rest:
		return t.flow(begin+rest, offset, c.path)
	default:
		c.canBeKey, c.siblings = true, t.siblings(n, column)
		c.canBeValue = len(c.path) > 0 && c.path[len(c.path)-1].item
	}
	return c.word(t, begin+column, offset)
}

// word sets what is typed from start to the cursor, and the whole of it.
func (c cursor) word(t text, start, offset int) cursor {
	c.start, c.end = start, max(t.token(start), offset)
	if c.start < len(t.body) && (t.body[c.start] == '"' || t.body[c.start] == '\'') && offset > c.start {
		quote := t.body[c.start]
		if c.start++; c.end > c.start && t.body[c.end-1] == quote && c.end > offset {
			c.end--
		}
	}
	c.start = min(c.start, offset)
	c.typed = t.body[c.start:offset]
	return c
}

// around returns what is around a column: the dashes of its line, and the lines before it.
func (t text) around(n int, inLine []entry, column int) cursor {
	c := cursor{column: column}
	limit, afterDash := column, false
	visit := func(e entry) {
		if e.column >= limit && (e.dash || !afterDash || e.column > limit) {
			return
		}
		if e.beginsText() { // what looks like keys below it is text
			c.path, c.inBlock, c.canBeValue = nil, true, true
		}
		c.path = append(c.path, step{key: e.key, item: e.dash})
		limit, afterDash = e.column, e.dash
	}
	for _, e := range slices.Backward(inLine) {
		e.value = "" // it is on the same line
		visit(e)
	}
	for n--; n >= 0 && (limit > 0 || afterDash); n-- {
		all, _ := entries(t.line(n))
		for _, e := range slices.Backward(all) {
			visit(e)
		}
	}
	slices.Reverse(c.path)
	return c
}

// siblings returns the keys of the mapping at a column, other than those of line n.
func (t text) siblings(n, column int) (keys []string) {
	// collect takes the keys of a line; more is false at a line that ends the mapping.
	collect := func(line string, above bool) (more bool) {
		all, rest := entries(line)
		if len(all) == 0 && (rest >= len(line) || line[rest] == '#') {
			return true
		}
		first := rest
		if len(all) > 0 {
			first = all[0].column
		}
		for i, e := range all {
			if !e.dash && e.column == column && (i == 0 || above) {
				keys = append(keys, e.key)
			}
		}
		return first >= column
	}
	if all, _ := entries(t.line(n)); len(all) == 0 || !all[0].dash || all[0].column > column {
		for i := n - 1; i >= 0 && collect(t.line(i), true); i-- {
		}
	}
	for i := n + 1; i < len(t.lines) && collect(t.line(i), false); i++ {
	}
	return keys
}

// flow returns the place of the cursor in a value in flow style, or in JSON, that begins at start.
func (t text) flow(start, offset int, path []step) cursor {
	type open struct {
		list bool
		key  string
		keys []string
		has  bool // the key of the member has been read
	}
	var stack []open
	begin := start // of the key or the value that is read
	for i := start; i < offset; i++ {
		switch c := t.body[i]; c {
		case '"', '\'':
			length := quotedLength(t.body[i:])
			if length == 0 || i+length > offset {
				begin, i = i, offset
				continue
			}
			begin = i
			i += length - 1
		case '{', '[':
			stack, begin = append(stack, open{list: c == '['}), i+1
		case '}', ']':
			if len(stack) > 0 {
				stack = stack[:len(stack)-1]
			}
			begin = i + 1
		case ',':
			if len(stack) > 0 {
				stack[len(stack)-1].has = false
			}
			begin = i + 1
		case ':':
			if len(stack) > 0 && !stack[len(stack)-1].list && !stack[len(stack)-1].has {
				top := &stack[len(stack)-1]
				top.key, top.has = unquote(strings.TrimSpace(t.body[begin:i])), true
				top.keys = append(top.keys, top.key)
				begin = i + 1
			}
		}
	}
	for begin < offset && strings.IndexByte(" \t\r\n", t.body[begin]) >= 0 {
		begin++
	}
	c := cursor{path: slices.Clone(path), column: -1}
	for i, o := range stack {
		switch {
		case o.list:
			c.path = append(c.path, step{item: true})
		case o.has:
			c.path = append(c.path, step{key: o.key})
		}
		if i == len(stack)-1 {
			c.canBeKey = !o.list && !o.has
		}
		if c.canBeKey {
			c.siblings = o.keys
		}
	}
	c.canBeValue = !c.canBeKey
	c = c.word(t, begin, offset)
	if stop := strings.IndexAny(t.body[offset:c.end], ",}]:"); stop >= 0 {
		c.end = offset + stop
	}
	c.hasColon = strings.HasPrefix(strings.TrimLeft(t.body[c.end:], `"' `), ":")
	return c
}
