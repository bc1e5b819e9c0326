package settings

// index finds the row of a name.
type index struct {
	rows  []Setting
	exact map[string]int
}

func newIndex(rows []Setting) index {
	x := index{rows: rows, exact: map[string]int{}}
	for i, row := range rows {
		if row.family != nil {
			continue
		}
		x.exact[row.Name] = i
		for _, alias := range row.Aliases {
			x.exact[alias] = i
		}
	}
	return x
}

// find returns the setting a variable gives directly: by its name, an alias, or
// as a member of a family.
func (x index) find(variable string) (name string, row int, ok bool) {
	if i, ok := x.exact[variable]; ok {
		return x.rows[i].Name, i, true
	}
	for i, row := range x.rows {
		if row.family != nil && row.family.claims(variable) {
			return variable, i, true
		}
	}
	return "", 0, false
}

// closed returns the family that owns every name with its prefix.
func (x index) closed(variable string) (row int, ok bool) {
	for i, row := range x.rows {
		if row.family == nil || !row.family.closed {
			continue
		}
		if _, ok := row.family.rest(variable); ok {
			return i, true
		}
	}
	return 0, false
}

// shownAs is shown for the member name of a family.
func (s Setting) shownAs(name, text string) string {
	if s.family == nil || text == "" {
		return s.shown(text)
	}
	rest, _ := s.family.rest(name)
	switch {
	case s.secretMember(name):
		return mask
	case s.family.show != nil:
		return s.family.show(rest, text)
	}
	return text
}

// secretMember reports whether name, a member when s is a family, is secret.
func (s Setting) secretMember(name string) bool {
	if s.family == nil || s.family.secret == nil {
		return s.Secret()
	}
	rest, _ := s.family.rest(name)
	return s.family.secret(rest)
}
