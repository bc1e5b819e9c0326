package bulk

import (
	"container/heap"
	"slices"
	"strings"
)

// member is one workspace of an import, with the data for its order.
type member struct {
	slug  string
	app   string   // that it publishes; "": none
	needs []string // apps that it uses
}

// order is the order of an import, and which workspaces wait for which.
type order struct {
	slugs   []string
	after   map[string][]string // slugs before it that it waits for
	cycles  [][]string          // members of each, by slug
	missing map[string][]string // apps that none of them publishes
}

// arrange puts each workspace after those that publish its apps; otherwise they are sorted by slug.
// Members of a cycle are sorted by slug.
func arrange(members []member) order {
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.slug, b.slug) })
	a := dependencyGraph{needs: map[string][]string{}}
	publisher := map[string]string{}
	for _, m := range members {
		if _, exists := publisher[m.app]; m.app != "" && !exists {
			publisher[m.app] = m.slug
		}
	}
	o := order{after: map[string][]string{}, missing: map[string][]string{}}
	for _, m := range members {
		seen := map[string]bool{}
		for _, app := range m.needs {
			switch of, known := publisher[app]; {
			case !known:
				o.missing[m.slug] = append(o.missing[m.slug], app)
			case of != m.slug && !seen[of]:
				seen[of] = true
				a.needs[m.slug] = append(a.needs[m.slug], of)
			}
		}
	}
	o.cycles = a.cycles(members)
	o.slugs = a.sortedSlugs(members)
	position := map[string]int{}
	for i, slug := range o.slugs {
		position[slug] = i
	}
	for _, slug := range o.slugs {
		for _, of := range a.needs[slug] {
			if position[of] < position[slug] {
				o.after[slug] = append(o.after[slug], of)
			}
		}
	}
	return o
}

// dependencyGraph has the dependencies between workspaces.
type dependencyGraph struct {
	needs map[string][]string // by slug, slugs
	group map[string]int      // the cycle that a slug is in; absent: none
}

// unit is a workspace, or a cycle of them. It waits for everything outside that one of its members
// waits for.
type unit struct {
	members []string
	waits   int
}

// sortedSlugs repeatedly takes the first workspace by slug that waits for none.
func (a *dependencyGraph) sortedSlugs(members []member) (slugs []string) {
	units, awaited := a.units(members)
	var free slugHeap
	for _, u := range units {
		if u.waits == 0 {
			free = append(free, u.members...)
		}
	}
	heap.Init(&free)
	for len(free) > 0 {
		slug := heap.Pop(&free).(string)
		slugs = append(slugs, slug)
		for _, u := range awaited[slug] {
			if u.waits--; u.waits == 0 {
				for _, one := range u.members {
					heap.Push(&free, one)
				}
			}
		}
	}
	return slugs
}

// units puts the members of each cycle together; awaited are those that wait for a
// slug.
func (a *dependencyGraph) units(members []member) (units []*unit, awaited map[string][]*unit) {
	of, cycles := map[string]*unit{}, map[int]*unit{}
	for _, m := range members {
		u := &unit{}
		if group, cyclic := a.group[m.slug]; cyclic && cycles[group] != nil {
			u = cycles[group]
		} else {
			if units = append(units, u); cyclic {
				cycles[group] = u
			}
		}
		u.members, of[m.slug] = append(u.members, m.slug), u
	}
	awaited = map[string][]*unit{}
	for _, u := range units {
		seen := map[string]bool{}
		for _, slug := range u.members {
			for _, need := range a.needs[slug] {
				if of[need] != u && !seen[need] {
					seen[need] = true
					u.waits++
					awaited[need] = append(awaited[need], u)
				}
			}
		}
	}
	return units, awaited
}

// slugHeap is a heap with the first slug on top.
type slugHeap []string

func (h slugHeap) Len() int           { return len(h) }
func (h slugHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h slugHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *slugHeap) Push(x any) { *h = append(*h, x.(string)) }

// Pop implements heap.Interface.
func (h *slugHeap) Pop() any {
	last := len(*h) - 1
	slug := (*h)[last]
	*h = (*h)[:last]
	return slug
}

// cycles finds workspaces that wait for each other (Tarjan's strongly connected components).
func (a *dependencyGraph) cycles(members []member) (found [][]string) {
	a.group = map[string]int{}
	t := tarjan{needs: a.needs, index: map[string]int{}, low: map[string]int{}, on: map[string]bool{}}
	for _, m := range members {
		if _, seen := t.index[m.slug]; !seen {
			t.visit(m.slug)
		}
	}
	for _, component := range t.components {
		if len(component) < 2 {
			continue
		}
		slices.Sort(component)
		for _, slug := range component {
			a.group[slug] = len(found)
		}
		found = append(found, component)
	}
	slices.SortFunc(found, func(x, y []string) int { return strings.Compare(x[0], y[0]) })
	return found
}

type tarjan struct {
	needs      map[string][]string
	index, low map[string]int
	on         map[string]bool
	stack      []string
	components [][]string
}

func (t *tarjan) visit(slug string) {
	t.index[slug] = len(t.index)
	t.low[slug] = t.index[slug]
	t.stack, t.on[slug] = append(t.stack, slug), true
	for _, of := range t.needs[slug] {
		if _, seen := t.index[of]; !seen {
			t.visit(of)
			t.low[slug] = min(t.low[slug], t.low[of])
		} else if t.on[of] {
			t.low[slug] = min(t.low[slug], t.index[of])
		}
	}
	if t.low[slug] != t.index[slug] {
		return
	}
	at := slices.Index(t.stack, slug)
	component := slices.Clone(t.stack[at:])
	t.stack = t.stack[:at]
	for _, one := range component {
		t.on[one] = false
	}
	t.components = append(t.components, component)
}
