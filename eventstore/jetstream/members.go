package jetstream

import (
	"encoding/json"
	"errors"
)

// Replaying a log is mostly taking envelopes apart. Their outer form is ours
// and simple, so it is cut into members in one pass; what is inside a member is
// left to encoding/json.

var errNotObject = errors.New("not a JSON object")

// members calls visit with each member of a JSON object: its key without the
// quotes, and its value as written. Keys with escapes are not understood; none
// of ours has one.
func members(data []byte, visit func(key, value []byte) error) error {
	i := skipSpace(data, 0)
	if i >= len(data) || data[i] != '{' {
		return errNotObject
	}
	for i = skipSpace(data, i+1); i < len(data) && data[i] == '"'; i = skipSpace(data, i+1) {
		end := skipString(data, i)
		colon := skipSpace(data, end)
		if end < 0 || colon >= len(data) || data[colon] != ':' {
			return errNotObject
		}
		from := skipSpace(data, colon+1)
		to := skipValue(data, from)
		if to < 0 {
			return errNotObject
		}
		if err := visit(data[i+1:end-1], data[from:to]); err != nil {
			return err
		}
		i = skipSpace(data, to)
		if i >= len(data) || data[i] != ',' {
			break
		}
	}
	if i >= len(data) || data[i] != '}' || skipSpace(data, i+1) != len(data) {
		return errNotObject
	}
	return nil
}

func skipSpace(data []byte, i int) int {
	if i < 0 {
		return len(data)
	}
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that begins at i; -1 when it
// does not end.
func skipString(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// skipValue returns the index after the value that begins at i; -1 when it does
// not end. It counts brackets and does not tell them apart: whoever decodes the
// value does.
func skipValue(data []byte, i int) int {
	depth, start := 0, i
	for i < len(data) {
		switch data[i] {
		case '"':
			if i = skipString(data, i); i < 0 {
				return -1
			}
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return ended(start, i)
			}
			if depth == 0 {
				return i + 1
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return ended(start, i)
			}
		}
		i++
	}
	return -1
}

// ended is the end of a number or a word; -1 when it has no character.
func ended(start, i int) int {
	if i == start {
		return -1
	}
	return i
}

// text sets *to from a JSON string.
func text(to *string, value []byte) error {
	if len(value) >= 2 && value[0] == '"' && plainString(value[1:len(value)-1]) {
		*to = string(value[1 : len(value)-1])
		return nil
	}
	return json.Unmarshal(value, to)
}

// plainString reports whether b stands for itself inside quotes.
func plainString(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c == '"' || c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}
