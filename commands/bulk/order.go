package bulk

import (
	"slices"
	"strings"
)

// member is one workspace of an import, as far as its order goes.
type member struct {
	slug  string
	app   string   // that it publishes; "": none
	needs []string // apps that it uses
}

// order is in which order workspaces are imported, and which wait for which.
type order struct {
	slugs   []string
	after   map[string][]string // slugs before it that it waits for
	cycles  [][]string          // members of each, by slug
	missing map[string][]string // apps that none of them publishes
}

// arrange puts each workspace after those that publish the apps it uses; ties go by
// slug. Members of a cycle stand in the order of their slugs.
func arrange(members []member) order {
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.slug, b.slug) })
	a := arranging{needs: map[string][]string{}, at: map[string]int{}}
	publisher := map[string]string{}
	for i, m := range members {
		a.at[m.slug] = i
		if _, taken := publisher[m.app]; m.app != "" && !taken {
			publisher[m.app] = m.slug
		}
	}
	o := order{after: map[string][]string{}, missing: map[string][]string{}}
	for _, m := range members {
		for _, app := range m.needs {
			switch of, known := publisher[app]; {
			case !known:
				o.missing[m.slug] = append(o.missing[m.slug], app)
			case of != m.slug && !slices.Contains(a.needs[m.slug], of):
				a.needs[m.slug] = append(a.needs[m.slug], of)
			}
		}
	}
	o.cycles = a.cycles(members)
	o.slugs = a.sorted(members)
	for i, slug := range o.slugs {
		for _, of := range a.needs[slug] {
			if slices.Contains(o.slugs[:i], of) {
				o.after[slug] = append(o.after[slug], of)
			}
		}
	}
	return o
}

// arranging is what the order is found from.
type arranging struct {
	needs map[string][]string // by slug, slugs
	at    map[string]int      // the place of a slug among all
	group map[string]int      // the cycle that a slug is in; absent: none
}

// sorted takes the first by slug of those that wait for nobody any more, and of
// cycles that wait for nobody outside, one after the other.
func (a *arranging) sorted(members []member) (slugs []string) {
	done := map[string]bool{}
	for len(slugs) < len(members) {
		for _, m := range members {
			if done[m.slug] || !a.free(m.slug, done) {
				continue
			}
			done[m.slug] = true
			slugs = append(slugs, m.slug)
			break
		}
	}
	return slugs
}

// free reports whether all that a workspace waits for are done, its own cycle left
// out of account; a member of a cycle waits for what any of them waits for.
func (a *arranging) free(slug string, done map[string]bool) bool {
	mine, cyclic := a.group[slug]
	together := []string{slug}
	if cyclic {
		together = together[:0]
		for other, group := range a.group {
			if group == mine {
				together = append(together, other)
			}
		}
	}
	for _, one := range together {
		for _, of := range a.needs[one] {
			if other, ok := a.group[of]; cyclic && ok && other == mine {
				continue
			}
			if !done[of] {
				return false
			}
		}
	}
	return true
}

// cycles finds those who wait for each other (Tarjan's strongly connected
// components).
func (a *arranging) cycles(members []member) (found [][]string) {
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
