package input

import (
	"fmt"
	"slices"
	"strings"

	"svc/domain/automation/value"
)

// prefixItems is the keyword of the same name.
type prefixItems struct{ nodes []*node }

func (p *prefixItems) check(r *run, _ *node, v any) bool {
	list, _ := v.([]any)
	all := true
	for i := range min(len(list), len(p.nodes)) {
		all = r.item(p.nodes[i], i, list[i]) && all
	}
	return all
}

// items is the keyword of the same name; from is how many prefixItems spoke of.
type items struct {
	node *node
	from int
}

func (s *items) check(r *run, _ *node, v any) bool {
	list, _ := v.([]any)
	all := true
	for i := s.from; i < len(list) && !r.spent; i++ {
		if !r.item(s.node, i, list[i]) {
			all = false
			if r.quiet > 0 {
				break
			}
		}
	}
	return all && !r.spent
}

// contains is contains, minContains and maxContains.
type contains struct {
	node        *node
	least, most float64
}

func (c *contains) check(r *run, n *node, v any) bool {
	list, ok := v.([]any)
	if !ok {
		return true
	}
	found := 0.0
	for _, item := range list {
		if c.node.fits(r, item) {
			found++
		}
		if r.spent {
			return false
		}
	}
	switch {
	case found < c.least:
		return r.fault(n, "contains", fmt.Sprintf("expected at least %s items of a certain form", value.Text(c.least)), "minContains", c.least)
	case found > c.most:
		return r.fault(n, "contains", fmt.Sprintf("expected at most %s items of a certain form", value.Text(c.most)), "maxContains", c.most)
	}
	return true
}

// unique is uniqueItems.
type unique struct{}

func (unique) check(r *run, n *node, v any) bool {
	list, _ := v.([]any)
	first := make(map[string]int, min(len(list), 1000))
	for i, item := range list {
		var w strings.Builder
		canonical(&w, item)
		if !r.spend(1 + w.Len()/8) {
			return false
		}
		if other, twice := first[w.String()]; twice {
			return r.fault(n, "uniqueItems", fmt.Sprintf("items %d and %d are the same", other, i), "i", float64(i), "j", float64(other))
		}
		first[w.String()] = i
	}
	return true
}

// canonical writes a value so that the same values are the same text.
func canonical(w *strings.Builder, v any) {
	switch v := plain(v).(type) {
	case []any:
		w.WriteByte('[')
		for _, item := range v {
			canonical(w, item)
			w.WriteByte(',')
		}
		w.WriteByte(']')
	case *value.Object:
		w.WriteByte('{')
		for _, key := range slices.Sorted(slices.Values(v.Keys())) {
			w.WriteString(value.JSON(key, "") + ":")
			canonical(w, v.At(key))
			w.WriteByte(',')
		}
		w.WriteByte('}')
	default:
		w.WriteString(value.JSON(v, ""))
	}
}
