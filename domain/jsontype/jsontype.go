// Package jsontype holds sets of the types that JSON has. The tables that say
// what documents may hold are written with them.
package jsontype

// Set is a set of types.
type Set uint8

// The sets of one type each, and that of all.
const (
	Text Set = 1 << iota
	Number
	Boolean
	List
	Object
	Null
	Anything = Text | Number | Boolean | List | Object | Null
)

// words are the names of the types as JSON Schema has them, in the order of
// their sets.
var words = [...]string{"string", "number", "boolean", "array", "object", "null"}

// Names lists the types of a set.
func (s Set) Names() (names []string) {
	for i, word := range words {
		if s&(1<<i) != 0 {
			names = append(names, word)
		}
	}
	return names
}

// Has reports whether the type with a name is in the set.
func (s Set) Has(name string) bool {
	for i, word := range words {
		if word == name {
			return s&(1<<i) != 0
		}
	}
	return false
}

// String returns the name of one type.
func (s Set) String() string {
	if names := s.Names(); len(names) == 1 {
		return names[0]
	}
	return "something else"
}
