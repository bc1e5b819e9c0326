package settings

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Live has the current settings. Readers call Get each time they need a live
// setting; SIGHUP calls Reload.
type Live struct {
	current atomic.Pointer[Loaded]
	reload  sync.Mutex // one Reload at a time
}

// NewLive returns a Live that starts with loaded.
func NewLive(loaded *Loaded) *Live {
	l := new(Live)
	l.current.Store(loaded)
	return l
}

// Get returns the current settings. They are never changed, only replaced.
func (l *Live) Get() *Loaded { return l.current.Load() }

// Reload reads src and applies its live settings, all or none: with any
// fault nothing changes. It returns the live settings that changed, and the
// others that differ from the current ones and need a restart.
func (l *Live) Reload(src Source) (changed, needRestart []string, err error) {
	l.reload.Lock()
	defer l.reload.Unlock()
	fresh, err := Load(src)
	if err != nil {
		return nil, nil, err
	}
	old := l.Get()
	next, faults := assemble(merge(old, fresh), loadContext{old.context.hostname, old.context.envFile, fresh.context.stat}, nil)
	if err := faults.orNil(); err != nil {
		return nil, nil, err
	}
	next.Warnings = fresh.Warnings
	l.current.Store(next)
	changed, needRestart = differences(old, fresh)
	return changed, needRestart, nil
}

// merge returns the live values of fresh and the other values of old.
func merge(old, fresh *Loaded) map[string]given {
	values := map[string]given{}
	for name, v := range old.given {
		if !old.rows[v.row].Live() {
			values[name] = v
		}
	}
	for name, v := range fresh.given {
		if fresh.rows[v.row].Live() {
			values[name] = v
		}
	}
	return values
}

// differences names the settings in which fresh differs from old. A key that
// was generated is not given in fresh and does not count.
func differences(old, fresh *Loaded) (live, rest []string) {
	names := map[string]bool{}
	for _, l := range []*Loaded{old, fresh} {
		for _, e := range l.Entries() {
			names[e.Name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		row := old.rowFrom(name, fresh)
		_, isGiven := fresh.given[name]
		if old.given[name].origin == OriginGenerated && !isGiven || old.hasSameValue(fresh, name) {
			continue
		}
		if row.Live() {
			live = append(live, name)
		} else {
			rest = append(rest, name)
		}
	}
	return live, rest
}

// rowFrom returns the row of name, a member that may be given in only one of l
// and other.
func (l *Loaded) rowFrom(name string, other *Loaded) Setting {
	if _, ok := other.given[name]; ok {
		return other.rowOf(name)
	}
	return l.rowOf(name)
}

// hasSameValue reports whether name means the same in l and in other.
func (l *Loaded) hasSameValue(other *Loaded, name string) bool {
	row := l.rowFrom(name, other)
	if row.Family() {
		return l.given[name].text == other.given[name].text
	}
	return l.canonicalValue(l.rowOf(name), name) == other.canonicalValue(other.rowOf(name), name)
}
