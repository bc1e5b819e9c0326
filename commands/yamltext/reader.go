package yamltext

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"svc/domain/document"
)

// reader turns parsed nodes into values.
type reader struct {
	count document.Counter
	open  map[*yaml.Node]bool // the aliased nodes that are being read
}

func fault(n *yaml.Node, format string, args ...any) error {
	return &document.Fault{Line: n.Line, Column: n.Column, Message: fmt.Sprintf(format, args...)}
}

// value reads n. depth is that of n if it is a mapping or a list.
func (r *reader) value(n *yaml.Node, depth int) (any, error) {
	switch n.Kind {
	case yaml.AliasNode:
		return r.alias(n, depth)
	case yaml.MappingNode:
		return r.mapping(n, depth)
	case yaml.SequenceNode:
		return r.list(n, depth)
	case yaml.ScalarNode:
		if err := r.leaf(n, n.Value); err != nil {
			return nil, err
		}
		return scalar(n)
	default:
		return nil, fault(n, "cannot be read as YAML")
	}
}

// leaf counts a key or a scalar.
func (r *reader) leaf(n *yaml.Node, text string) error {
	if err := r.count.CountNode(0, n.Line, n.Column); err != nil {
		return err
	}
	return r.count.CountString(text, n.Line, n.Column)
}

// alias reads what n stands for once more: there are no references in a value.
func (r *reader) alias(n *yaml.Node, depth int) (any, error) {
	if r.open[n.Alias] {
		return nil, fault(n, "the alias %s contains itself", document.QuoteShort(n.Value))
	}
	r.open[n.Alias] = true
	defer delete(r.open, n.Alias)
	v, err := r.value(n.Alias, depth)
	if f, ok := errors.AsType[*document.Fault](err); ok && f.Limit != "" {
		f.Line, f.Column = n.Line, n.Column // it is the alias that is too much
	}
	return v, err
}

func (r *reader) list(n *yaml.Node, depth int) (any, error) {
	if err := r.enter(n, "!!seq", depth); err != nil {
		return nil, err
	}
	l := make([]any, 0, len(n.Content))
	for _, item := range n.Content {
		v, err := r.value(item, depth+1)
		if err != nil {
			return nil, err
		}
		l = append(l, v)
	}
	return l, nil
}

// enter counts a mapping or a list and checks that it is no more than that.
func (r *reader) enter(n *yaml.Node, tag string, depth int) error {
	if n.Tag != tag {
		return fault(n, "the tag %s is not allowed", document.QuoteShort(n.Tag))
	}
	return r.count.CountNode(depth, n.Line, n.Column)
}

func (r *reader) mapping(n *yaml.Node, depth int) (any, error) {
	if err := r.enter(n, "!!map", depth); err != nil {
		return nil, err
	}
	own, err := r.ownKeys(n)
	if err != nil {
		return nil, err
	}
	m := document.MapOf()
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if isMerge(key) {
			err = r.merge(m, own, value, depth)
		} else {
			err = r.set(m, key, value, depth)
		}
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (r *reader) set(m *document.Map, key, value *yaml.Node, depth int) error {
	v, err := r.value(value, depth+1)
	if err == nil {
		m.Set(keyOf(key), v)
	}
	return err
}

// ownKeys returns the keys that n gives itself, each once.
func (r *reader) ownKeys(n *yaml.Node) (map[string]bool, error) {
	own := make(map[string]bool, len(n.Content)/2)
	merged := false
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if err := checkKey(key); err != nil {
			return nil, err
		}
		name := keyOf(key)
		if err := r.leaf(key, name); err != nil {
			return nil, err
		}
		if isMerge(key) && merged || !isMerge(key) && own[name] {
			return nil, fault(key, "the key %s is given twice", document.QuoteShort(name))
		}
		if isMerge(key) {
			merged = true
		} else {
			own[name] = true
		}
	}
	return own, nil
}

// merge adds the keys of a mapping, or of several, the first of which has its
// way. What the mapping says itself goes before all of them.
func (r *reader) merge(m *document.Map, own map[string]bool, from *yaml.Node, depth int) error {
	v, err := r.value(from, depth)
	if err != nil {
		return err
	}
	sources, several := v.([]any)
	if !several {
		sources = []any{v}
	}
	for _, source := range sources {
		other, ok := source.(*document.Map)
		if !ok {
			return fault(from, "only mappings can be merged with <<")
		}
		for key, value := range other.All() {
			if _, known := m.Get(key); !known && !own[key] {
				m.Set(key, value)
			}
		}
	}
	return nil
}
