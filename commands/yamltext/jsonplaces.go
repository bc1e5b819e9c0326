package yamltext

import (
	"encoding/json"
	"unicode/utf8"
)

// jsonPlaces walks through a JSON text that is known to be one.
type jsonPlaces struct {
	text   []byte
	tokens *json.Decoder
	here   Place // of the byte at
	at     int
}

// next returns the next token and where it begins.
func (j *jsonPlaces) next() (json.Token, Place) {
	begin := int(j.tokens.InputOffset())
	for begin < len(j.text) && isBetween(j.text[begin]) {
		begin++
	}
	for j.at < begin {
		r, size := utf8.DecodeRune(j.text[j.at:])
		j.at += size
		if j.here.Column++; r == '\n' {
			j.here = Place{j.here.Line + 1, 1}
		}
	}
	token, err := j.tokens.Token()
	if err != nil {
		return nil, j.here // Read has seen it to its end
	}
	return token, j.here
}

// isBetween reports whether a byte stands between tokens.
func isBetween(b byte) bool {
	return b == ' ' || b == '\t' || b == '\r' || b == '\n' || b == ',' || b == ':'
}

func (j *jsonPlaces) value() part {
	token, place := j.next()
	return part{place, j.inside(token)}
}

// inside reads on to the end of the list or mapping that token begins.
func (j *jsonPlaces) inside(token json.Token) *inside {
	switch token {
	case json.Delim('['):
		in := &inside{}
		for j.tokens.More() {
			in.items = append(in.items, j.value())
		}
		j.next()
		return in
	case json.Delim('{'):
		in := &inside{members: map[string]part{}}
		for j.tokens.More() {
			key, place := j.next()
			name, _ := key.(string)
			in.members[name] = part{place, j.value().in}
		}
		j.next()
		return in
	}
	return nil
}
