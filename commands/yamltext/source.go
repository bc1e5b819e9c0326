package yamltext

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"svc/domain/document"
)

// Position is where something stands in a text: line and column, both from 1.
type Position struct{ Line, Column int }

// Source is a text in which the fields of its document can be found.
type Source struct{ root part }

// part is a value in a text: the place of its key, of its position in a list, or
// of the document.
type part struct {
	position Position
	value    Position // of the value after the key; else the same as position
	in       *inside  // nil: a scalar
}

// inside is what a mapping or a list holds. What an alias stands for is there
// once, however often it is named.
type inside struct {
	members map[string]part
	items   []part
}

// Locate reads a text as Read does and returns where its parts stand. It fails
// where Read fails.
func Locate(text []byte, limits document.Limits) (*Source, error) {
	if _, err := Read(text, limits); err != nil {
		return nil, err
	}
	if looksLikeJSON(text) {
		j := &jsonPositions{text: text, tokens: json.NewDecoder(bytes.NewReader(text)), here: Position{1, 1}}
		return &Source{j.value()}, nil
	}
	text, err := cleaned(text)
	if err != nil {
		return nil, err
	}
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	if root == nil {
		return &Source{part{position: Position{1, 1}, value: Position{1, 1}}}, nil
	}
	y := yamlPositions{}
	return &Source{part{positionOf(root), positionOf(root), y.inside(root)}}, nil
}

// Position returns where the field at a path stands, such as do[2].fetch.url: its
// key, or the item of a list. Of a field that is not in the text it is the place
// of the nearest one around it that is.
func (s *Source) Position(field string) Position {
	at, _ := s.find(field)
	return at.position
}

// Find returns where the key of a field stands and where its value does; false for a field that is not in the text.
func (s *Source) Find(field string) (key, value Position, ok bool) {
	at, ok := s.find(field)
	return at.position, at.value, ok
}

// find returns the part at a path, or the nearest one around it.
func (s *Source) find(field string) (at part, whole bool) {
	at = s.root
	steps := stepsOf(field)
	for len(steps) > 0 {
		next, used := at.next(steps)
		if used == 0 {
			break
		}
		at, steps = next, steps[used:]
	}
	return at, len(steps) == 0
}

// next goes into p by the first steps of a path and says how many it took: a key
// with dots in it may have been written without quotes.
func (p part) next(steps []step) (part, int) {
	if p.in == nil {
		return part{}, 0
	}
	if first := steps[0]; first.isItem {
		if first.item < len(p.in.items) {
			return p.in.items[first.item], 1
		}
		return part{}, 0
	}
	key := ""
	for i, s := range steps {
		if s.isItem {
			break
		}
		if key += s.key; p.in.members != nil {
			if member, ok := p.in.members[key]; ok {
				return member, i + 1
			}
		}
		key += "."
	}
	return part{}, 0
}

// yamlPositions remembers the nodes it has been to, for aliases.
type yamlPositions map[*yaml.Node]*inside

func positionOf(n *yaml.Node) Position { return Position{n.Line, n.Column} }

// inside returns the parts of n, which Read has accepted: no alias contains
// itself, and merged are only mappings.
func (y yamlPositions) inside(n *yaml.Node) *inside {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode && n.Kind != yaml.SequenceNode {
		return nil
	}
	if known, ok := y[n]; ok {
		return known
	}
	in := &inside{}
	if n.Kind == yaml.MappingNode {
		y.members(in, n)
	} else {
		for _, item := range n.Content {
			in.items = append(in.items, part{positionOf(item), positionOf(item), y.inside(item)})
		}
	}
	y[n] = in
	return in
}

// members sets the members of a mapping: its own, then those that it merges.
func (y yamlPositions) members(in *inside, n *yaml.Node) {
	in.members = make(map[string]part, len(n.Content)/2)
	var merged []*inside
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if !isMerge(key) {
			in.members[keyOf(key)] = part{positionOf(key), positionOf(value), y.inside(value)}
		} else if from := y.inside(value); from != nil {
			merged = append(merged, from)
			for _, item := range from.items {
				merged = append(merged, item.in)
			}
		}
	}
	for _, from := range merged {
		for key, member := range from.members {
			if _, known := in.members[key]; !known {
				in.members[key] = member
			}
		}
	}
}

// step is one part of a path: a key, or a position in a list.
type step struct {
	key    string
	item   int
	isItem bool
}

// stepsOf takes a path apart that shape.Path, or the parser of automations, put
// together. Of one that was cut off, what is whole counts.
func stepsOf(path string) []step {
	var steps []step
	for path != "" {
		s, rest, ok := firstStep(path)
		if !ok {
			break
		}
		steps, path = append(steps, s), rest
	}
	return steps
}

func firstStep(path string) (s step, rest string, ok bool) {
	switch {
	case strings.HasPrefix(path, `["`):
		return quotedStep(path[1:])
	case path[0] == '[':
		digits, rest, closed := strings.Cut(path[1:], "]")
		n, err := strconv.Atoi(digits)
		return step{item: n, isItem: true}, rest, closed && err == nil && n >= 0
	}
	path = strings.TrimPrefix(path, ".")
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	return step{key: path[:end]}, path[end:], true
}

// quotedStep reads a key in quotes and the bracket after it.
func quotedStep(path string) (s step, rest string, ok bool) {
	end := 1
	for end < len(path) && path[end] != '"' {
		if path[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(path) || !strings.HasPrefix(path[end+1:], "]") {
		return step{}, "", false
	}
	err := json.Unmarshal([]byte(path[:end+1]), &s.key)
	return s, path[end+2:], err == nil
}

// jsonPositions walks through a JSON text that is known to be one.
type jsonPositions struct {
	text   []byte
	tokens *json.Decoder
	here   Position // of the byte at
	at     int
}

// next returns the next token and where it begins.
func (j *jsonPositions) next() (json.Token, Position) {
	begin := int(j.tokens.InputOffset())
	for begin < len(j.text) && isBetween(j.text[begin]) {
		begin++
	}
	for j.at < begin {
		r, size := utf8.DecodeRune(j.text[j.at:])
		j.at += size
		if j.here.Column++; r == '\n' {
			j.here = Position{j.here.Line + 1, 1}
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

func (j *jsonPositions) value() part {
	token, position := j.next()
	return part{position, position, j.inside(token)}
}

// inside reads on to the end of the list or mapping that token begins.
func (j *jsonPositions) inside(token json.Token) *inside {
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
			key, position := j.next()
			name, _ := key.(string)
			value := j.value()
			in.members[name] = part{position, value.position, value.in}
		}
		j.next()
		return in
	}
	return nil
}
