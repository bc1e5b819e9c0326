package shape

import (
	"fmt"
	"slices"

	"svc/domain/automation/expr"
)

// maxField is the length of a path that is told, in characters: keys can be as
// long as a document.
const maxField = 400

// Path returns the path of a field as faults have it, those of automations too:
// keys are strings, positions in lists are ints. Path("do", 2, "fetch", "a b") is
// do[2].fetch["a b"].
func Path(steps ...any) string {
	path := ""
	for _, step := range steps {
		switch step := step.(type) {
		case string:
			path = expr.Member(path, step)
		case int:
			path = fmt.Sprintf("%s[%d]", path, step)
		}
	}
	return path
}

// place is where a value stands in a document. It becomes a text only when there
// is a fault to tell: a document of many values below a long key would be copied
// many times over. A nil place is the document itself.
type place struct {
	up   *place
	step any // a key or a position
}

func (p *place) at(step any) *place { return &place{p, step} }

// String returns the path, cut when it is long.
func (p *place) String() string {
	var steps []any
	for ; p != nil; p = p.up {
		step := p.step
		if key, ok := step.(string); ok {
			step = cut(key, maxField)
		}
		steps = append(steps, step)
	}
	slices.Reverse(steps)
	return cut(Path(steps...), maxField)
}

// cut shortens a text that somebody else chose.
func cut(s string, limit int) string {
	length := 0
	for i := range s {
		if length == limit {
			return s[:i] + "…"
		}
		length++
	}
	return s
}
