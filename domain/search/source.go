package search

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"svc/domain/feed"
)

// source says which fields documents are shown with. The nil source is all of them.
type source struct{ patterns []string }

// source reads a list of fields, with * for any text.
func (p *parser) source(v any, at string) *source {
	if v == nil {
		return nil
	}
	items := several(v)
	if len(items) > maxSource {
		p.fault(at, "has more than %d fields", maxSource)
		return nil
	}
	s := &source{}
	for i, item := range items {
		name := p.text(item, place(at, i))
		if utf8.RuneCountInString(name) > maxField {
			p.fault(place(at, i), "has more than %d characters", maxField)
		}
		s.patterns = append(s.patterns, string(fieldAt(name)))
	}
	return s
}

// of returns a document as it is shown.
func (s *source) of(d Doc) json.RawMessage {
	if s == nil {
		return d.JSON()
	}
	kept := map[string]any{}
	for _, v := range d.Values("") {
		if m, ok := v.(map[string]any); ok {
			kept, _ = s.narrow(m, "").(map[string]any)
		}
	}
	body, err := json.Marshal(kept)
	if err != nil || kept == nil {
		return json.RawMessage("{}") // what was decoded can be encoded
	}
	return body
}

// narrow returns what is left of a value at a path, nil when nothing is.
func (s *source) narrow(v any, path string) any {
	if path != "" && s.names(path) {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		kept := map[string]any{}
		for name, inner := range v {
			if inner := s.narrow(inner, join(path, name)); inner != nil {
				kept[name] = inner
			}
		}
		if len(kept) > 0 {
			return kept
		}
	case []any:
		var kept []any
		for _, inner := range v {
			if inner := s.narrow(inner, path); inner != nil {
				kept = append(kept, inner)
			}
		}
		if kept != nil {
			return kept
		}
	}
	return nil
}

func (s *source) names(path string) bool {
	for _, pattern := range s.patterns {
		if pattern == path || strings.Contains(pattern, "*") && feed.Like(pattern, path) {
			return true
		}
	}
	return false
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
