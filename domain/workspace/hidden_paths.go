package workspace

import (
	"encoding/json"
	"slices"
	"strconv"

	"svc/domain/automation/redact"
	"svc/domain/document"
)

// HiddenPaths are the paths in a config where an automation wrote a secret: the config has it,
// events do not. Each is a list of keys and indexes.
type HiddenPaths [][]string

// Remaining returns the paths that still have a secret in the next version of a config, together
// with more. A text has it until it changes. A composite value may have it anywhere, also in
// keys, and has it until it is empty.
func (u HiddenPaths) Remaining(before, next any, more HiddenPaths) HiddenPaths {
	var still HiddenPaths
	for _, path := range u {
		v, ok := pathValue(next, path)
		if was, _ := pathValue(before, path); ok && (isComposite(v) || document.Equal(was, v)) {
			still = append(still, path)
		}
	}
	return still.Union(more)
}

func isComposite(v any) bool {
	switch v := v.(type) {
	case *document.Map:
		return v.Len() > 0
	case []any:
		return len(v) > 0
	}
	return false
}

// maxHiddenPaths bounds the number of paths, and maxHiddenBytes the length of all their keys.
const (
	maxHiddenPaths = 100
	maxHiddenBytes = 16 << 10
)

// Union returns these paths and more, once each. When there are too many, the whole config is
// hidden.
func (u HiddenPaths) Union(more HiddenPaths) HiddenPaths {
	all, size := slices.Concat(u, more), 0
	slices.SortFunc(all, slices.Compare[[]string])
	all = slices.CompactFunc(all, slices.Equal[[]string])
	for _, path := range all {
		for _, key := range path {
			size += len(key)
		}
	}
	if len(all) > maxHiddenPaths || size > maxHiddenBytes {
		return HiddenPaths{{}}
	}
	return all
}

// WithHiddenOf returns settings with the hidden paths of the settings before, and more.
func (a Settings) WithHiddenOf(before Settings, more HiddenPaths) Settings {
	was, _ := before.Config.Get("value")
	value, _ := a.Config.Get("value")
	a.HiddenPaths = before.HiddenPaths.Remaining(was, value, more)
	return a
}

// mask returns a config with the hidden values masked.
func (u HiddenPaths) mask(config any) any {
	for _, path := range u {
		config = maskAt(config, path)
	}
	return config
}

// maskAt returns v with the mark at a path, if that leads anywhere.
func maskAt(v any, path []string) any {
	if _, ok := pathValue(v, path); !ok {
		return v
	}
	if len(path) == 0 {
		return redact.Redacted
	}
	if list, ok := v.([]any); ok {
		i, _ := strconv.Atoi(path[0]) // it leads somewhere
		list = slices.Clone(list)
		list[i] = maskAt(list[i], path[1:])
		return list
	}
	changed := asMap(v).Copy()
	inner, _ := changed.Get(path[0])
	changed.Set(path[0], maskAt(inner, path[1:]))
	return changed
}

// pathValue returns the value at a path of v.
func pathValue(v any, path []string) (any, bool) {
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

// publicConfig returns the config of a workspace for events.
func (a Settings) publicConfig() *document.Map {
	config := HideSecrets(a.Config)
	value, ok := config.Get("value")
	if !ok || len(a.HiddenPaths) == 0 {
		return config
	}
	config = config.Copy()
	config.Set("value", a.HiddenPaths.mask(value))
	return config
}

// publicDocument returns the snapshot for events.
func (s Snapshot) publicDocument() *document.Map {
	s.Settings.Config = s.Settings.publicConfig()
	return s.Document()
}

// publicBody returns a document for events.
func (e Entry) publicBody() json.RawMessage {
	doc := document.MapOf()
	if len(e.HiddenPaths) == 0 || doc.UnmarshalJSON(e.Body) != nil {
		return e.Body
	}
	if config, ok := doc.Get("config"); ok {
		doc.Set("config", e.HiddenPaths.mask(config))
	}
	body, err := document.JSON(doc)
	if err != nil {
		return nil // what it is short of lists show
	}
	return body
}
