package settings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
)

// Loaded is a valid set of settings. It is not changed once it is in use.
type Loaded struct {
	Config   Config
	Warnings []string // names that look like ours but are not

	rows    []Setting // bound to Config
	given   map[string]given
	derived map[string]string // text of the derived defaults
	world   world
}

// world is what a set of settings depends on besides the given values.
type world struct {
	hostname string
	envFile  string
	stat     func(string) (fs.FileInfo, error)
}

// Load reads every setting from src. Its error is Faults, with every fault at
// once. It creates nothing and prints nothing.
func Load(src Source) (*Loaded, error) {
	src = src.withDefaults()
	found := gather(src, Table())
	loaded, faults := assemble(found.values, world{src.Hostname, found.envFile, src.Stat}, found.faults)
	if err := faults.orNil(); err != nil {
		return nil, err
	}
	loaded.Warnings = append(found.warnings, found.lookalikes()...)
	return loaded, nil
}

// assembly is one run of assemble.
type assembly struct {
	*Loaded
	faults Faults
}

// assemble parses values into a new Loaded and checks it. Faults already known
// keep the checks from complaining about the same names again.
func assemble(values map[string]given, w world, known Faults) (*Loaded, Faults) {
	loaded := &Loaded{given: values, derived: map[string]string{}, world: w}
	loaded.rows = table(&loaded.Config)
	a := &assembly{loaded, known}
	for _, row := range a.rows {
		a.plain(row)
	}
	for _, name := range slices.Sorted(maps.Keys(a.given)) {
		a.member(a.given[name])
	}
	d := &defaults{cfg: &a.Config, hostname: w.hostname, envFile: w.envFile}
	for _, row := range a.rows {
		a.derive(row, d)
	}
	a.crossCheck()
	return loaded, a.faults
}

// plain sets the field of row from the given value, or else from its default.
func (a *assembly) plain(row Setting) {
	if row.family != nil {
		return
	}
	if v, ok := a.given[row.Name]; ok {
		err := row.value.set(v.text)
		if err == nil {
			return
		}
		a.refuse(row.Name, reason(row.value.expect, err))
	}
	if text := row.plainDefault(); text != "" {
		if err := row.value.set(text); err != nil {
			panic("settings: the default of " + row.Name + " is not accepted") // the tests parse each
		}
	}
}

// member sets one member of a family.
func (a *assembly) member(v given) {
	f := a.rows[v.row].family
	if f == nil {
		return
	}
	rest, _ := f.rest(v.name)
	if err := f.set(rest, v.text); err != nil {
		a.refuse(v.name, reason(f.expect, err))
	}
}

// derive computes the default of row when nothing usable was given.
func (a *assembly) derive(row Setting, d *defaults) {
	if _, ok := a.given[row.Name]; row.derive == nil || ok && !a.faulty(row.Name) {
		return
	}
	text := row.derive(d)
	if text == "" {
		return
	}
	a.derived[row.Name] = text
	if err := row.value.set(text); err != nil {
		a.faults = append(a.faults, Fault{row.Name, text, reason(row.value.expect, err)})
	}
}

// reason joins the expectation with what the parser had to add.
func reason(expect string, err error) string {
	if own, ok := errors.AsType[expected](err); ok {
		return string(own)
	}
	if err.Error() == "" {
		return expect
	}
	return expect + ": " + err.Error()
}

// refuse adds a fault of the setting name.
func (a *assembly) refuse(name, want string) {
	v := a.given[name]
	a.faults = append(a.faults, Fault{name, a.rows[v.row].shownAs(name, v.written), want})
}

// faulty reports whether one of the names already has a fault.
func (a *assembly) faulty(names ...string) bool {
	return slices.ContainsFunc(a.faults, func(f Fault) bool {
		return slices.Contains(names, f.Name) || slices.Contains(names, trimFile(f.Name))
	})
}

// Format implements fmt.Formatter: a Loaded never prints what it holds.
func (l Loaded) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "settings") }
