package workspace

import (
	"encoding/json"
	"slices"
	"strconv"

	"svc/domain/automation/redact"
	"svc/domain/document"
)

// Untold are the places in a config where an automation wrote a secret: the config holds
// it, and events do not tell it. Each is the keys and indexes that lead there.
type Untold [][]string

// Still returns those that still hold it in a config that followed another one, together
// with more. A text does until it is another one. What is made of others may have it in
// any of them, in keys too, and does as long as there is anything.
func (u Untold) Still(before, next any, more Untold) Untold {
	var still Untold
	for _, path := range u {
		v, ok := within(next, path)
		if was, _ := within(before, path); ok && (composed(v) || document.Equal(was, v)) {
			still = append(still, path)
		}
	}
	return still.And(more)
}

func composed(v any) bool {
	switch v := v.(type) {
	case *document.Map:
		return v.Len() > 0
	case []any:
		return len(v) > 0
	}
	return false
}

// mostUntold is how many places are known one by one, and mostUntoldBytes how long the
// ways to them are together: each is kept with all keys that lead there.
const (
	mostUntold      = 100
	mostUntoldBytes = 16 << 10
)

// And returns these places and more, once each. Of too many it is not known which: nothing
// of the config is told then.
func (u Untold) And(more Untold) Untold {
	all, size := slices.Concat(u, more), 0
	slices.SortFunc(all, slices.Compare[[]string])
	all = slices.CompactFunc(all, slices.Equal[[]string])
	for _, path := range all {
		for _, key := range path {
			size += len(key)
		}
	}
	if len(all) > mostUntold || size > mostUntoldBytes {
		return Untold{{}}
	}
	return all
}

// Follow returns settings that follow others, without telling what those do not tell, nor
// more.
func (a Settings) Follow(before Settings, more Untold) Settings {
	was, _ := before.Config.Get("value")
	value, _ := a.Config.Get("value")
	a.Untold = before.Untold.Still(was, value, more)
	return a
}

// hide returns a config as it is told.
func (u Untold) hide(config any) any {
	for _, path := range u {
		config = masked(config, path)
	}
	return config
}

// masked returns v with the mark at a path, if that leads anywhere.
func masked(v any, path []string) any {
	if _, ok := within(v, path); !ok {
		return v
	}
	if len(path) == 0 {
		return redact.Redacted
	}
	if list, ok := v.([]any); ok {
		i, _ := strconv.Atoi(path[0]) // it leads somewhere
		list = slices.Clone(list)
		list[i] = masked(list[i], path[1:])
		return list
	}
	changed := asMap(v).Copy()
	inner, _ := changed.Get(path[0])
	changed.Set(path[0], masked(inner, path[1:]))
	return changed
}

// within returns what v has at a path.
func within(v any, path []string) (any, bool) {
	for _, key := range path {
		ok := false
		switch at := v.(type) {
		case *document.Map:
			v, ok = at.Get(key)
		case []any:
			i, err := strconv.Atoi(key)
			if ok = err == nil && i >= 0 && i < len(at); ok {
				v = at[i]
			}
		}
		if !ok {
			return nil, false
		}
	}
	return v, true
}

// told is the config of a workspace as events tell it.
func (a Settings) told() *document.Map {
	config := HideSecrets(a.Config)
	value, ok := config.Get("value")
	if !ok || len(a.Untold) == 0 {
		return config
	}
	config = config.Copy()
	config.Set("value", a.Untold.hide(value))
	return config
}

// told is the snapshot as events tell it.
func (s Snapshot) told() *document.Map {
	s.Settings.Config = s.Settings.told()
	return s.Document()
}

// told is a document as events tell it.
func (e Entry) told() json.RawMessage {
	doc := document.MapOf()
	if len(e.Untold) == 0 || doc.UnmarshalJSON(e.Body) != nil {
		return e.Body
	}
	if config, ok := doc.Get("config"); ok {
		doc.Set("config", e.Untold.hide(config))
	}
	body, err := document.JSON(doc)
	if err != nil {
		return nil // what it is short of lists show
	}
	return body
}
