package settings

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Entry is one effective setting as an operator may see it.
type Entry struct {
	Name   string `json:"name"`
	Value  string `json:"value"` // masked when secret
	Source Origin `json:"source"`
	Part   Part   `json:"part"`
	Live   bool   `json:"live"`
	Secret bool   `json:"secret"`
}

// Entries returns every plain setting and every member of a family that was
// given, in the order of the table.
func (l *Loaded) Entries() []Entry {
	members := map[int][]string{}
	for _, name := range slices.Sorted(maps.Keys(l.given)) {
		v := l.given[name]
		if l.rows[v.row].Family() {
			members[v.row] = append(members[v.row], name)
		}
	}
	var entries []Entry
	for i, row := range l.rows {
		names := []string{row.Name}
		if row.Family() {
			names = members[i]
		}
		for _, name := range names {
			entries = append(entries, l.entry(row, name))
		}
	}
	return entries
}

func (l *Loaded) entry(row Setting, name string) Entry {
	e := Entry{Name: name, Source: OriginDefault, Part: row.Part, Live: row.Live(), Secret: row.secretMember(name)}
	v, isGiven := l.given[name]
	derived, isDerived := l.derived[name]
	switch {
	case isGiven:
		e.Value, e.Source = row.shownAs(name, v.written), v.origin
	case isDerived:
		e.Value = derived
	case row.Default != "-":
		e.Value = strings.ReplaceAll(row.Default, "`", "")
	}
	return e
}

// entryText is the shown value of name, "" when there is none.
func (l *Loaded) entryText(name string) string {
	for _, row := range l.rows {
		if row.Name == name {
			return l.entry(row, name).Value
		}
	}
	if v, ok := l.given[name]; ok {
		return l.rows[v.row].shownAs(name, v.written)
	}
	return ""
}

// Changed returns the entries that are not at their default.
func (l *Loaded) Changed() []Entry {
	return slices.DeleteFunc(l.Entries(), func(e Entry) bool { return e.Source == OriginDefault })
}

// effective returns name's value so that equal texts mean equal settings. It
// may hold a secret.
func (l *Loaded) effective(row Setting, name string) string {
	if row.Family() || row.Secret() || row.marks&document != 0 {
		return l.given[name].text
	}
	return row.value.canon()
}

// Digest is equal on two nodes when the settings that must agree do. It covers
// the values that are neither secret nor of one node, and hashes of the secrets;
// with keys of full strength among them nothing can be guessed back from it.
func (l *Loaded) Digest() string {
	sum := sha256.New()
	for _, e := range l.Entries() {
		row := l.rowOf(e.Name)
		if row.PerNode() {
			continue
		}
		text := l.effective(row, e.Name)
		if e.Secret || row.marks&document != 0 {
			hidden := sha256.Sum256([]byte(e.Name + "\x00" + text))
			text = hex.EncodeToString(hidden[:])
		}
		fmt.Fprintf(sum, "%q=%q\n", e.Name, text)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// rowOf returns the row of a plain setting or of a given member.
func (l *Loaded) rowOf(name string) Setting {
	if v, ok := l.given[name]; ok {
		return l.rows[v.row]
	}
	i := slices.IndexFunc(l.rows, func(row Setting) bool { return row.Name == name })
	return l.rows[i]
}
