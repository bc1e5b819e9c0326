package redact

import (
	"bytes"
	"encoding/json"
)

// JSON returns JSON without secrets in its strings and keys. What holds none is
// returned as it is; text that is no JSON is taken as one string.
func (s *Set) JSON(text []byte) []byte {
	in := s.current()
	if in == nil {
		return text
	}
	if !json.Valid(text) {
		if redacted := in.text(string(text)); redacted != string(text) {
			return []byte(redacted)
		}
		return text
	}
	var made []byte
	kept := 0
	for at := 0; ; {
		begin, end := literal(text, at)
		if begin < 0 {
			break
		}
		at = end
		if redacted, changed := in.literal(text[begin:end]); changed {
			made = append(append(made, text[kept:begin]...), redacted...)
			kept = end
		}
	}
	if made == nil {
		return text
	}
	return append(made, text[kept:]...)
}

// literal returns where the next string from a place on begins and ends, quotes
// included; -1 when there is none. The text is valid.
func literal(text []byte, from int) (begin, end int) {
	begin = bytes.IndexByte(text[from:], '"')
	if begin < 0 {
		return -1, 0
	}
	begin += from
	for i := begin + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return begin, i + 1
		}
	}
	return -1, 0
}

// literal returns a string of JSON without secrets, and whether it had any.
func (in *index) literal(quoted []byte) ([]byte, bool) {
	inner := string(quoted[1 : len(quoted)-1])
	if bytes.IndexByte(quoted, '\\') >= 0 {
		if json.Unmarshal(quoted, &inner) != nil {
			return quoted, false
		}
	}
	redacted := in.text(inner)
	if redacted == inner {
		return quoted, false
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(redacted) != nil {
		return quoted, false
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), true
}
