package merge

import (
	"errors"
	"strings"
	"unicode/utf8"

	"svc/commands/yamltext"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/merge"
	"svc/domain/shape"
)

type merger struct {
	Options
	result *Result
}

// file merges one object: the table of the contract.
func (m *merger) file(v *version) error {
	if m.Excludes.Has(v.place.String()) {
		m.take(v.ours)
		return nil
	}
	oursSame, theirsSame := same(v.base, v.ours), same(v.base, v.theirs)
	if !oursSame {
		m.result.Ours = append(m.result.Ours, v.place.String())
	}
	if !theirsSame {
		m.result.Theirs = append(m.result.Theirs, v.place.String())
	}
	switch {
	case oursSame, same(v.ours, v.theirs):
		m.take(v.theirs)
	case theirsSame:
		m.take(v.ours)
	case v.ours == nil:
		m.deleted(v, DeleteModify)
	case v.theirs == nil:
		m.deleted(v, ModifyDelete)
	default:
		return m.both(v)
	}
	return nil
}

// deleted leaves a file to somebody that one side deleted and the other changed.
func (m *merger) deleted(v *version, kind Kind) {
	lines, _ := merge.Text(v.base.lines(), v.ours.lines(), v.theirs.lines())
	m.conflict(v, kind, nil, lines)
}

// take puts a file of one side into the result as it is.
func (m *merger) take(f *file) {
	if f != nil {
		m.result.Files[f.path] = f.text
	}
}

// both merges a file that both sides changed: by lines; where that does not give
// a good document, by keys.
func (m *merger) both(v *version) error {
	lines, clean := merge.Text(v.base.lines(), v.ours.lines(), v.theirs.lines())
	if clean {
		if done, err := m.use(v, lines); done || err != nil {
			return err
		}
	}
	text, keys, err := byKeys(v)
	if err != nil {
		return err
	}
	if text != nil && len(keys) == 0 {
		if done, err := m.use(v, text); done || err != nil {
			return err
		}
	}
	if !merge.HasMarkers(lines) { // no good document, or too long to compare: all that differs is shown
		lines, _ = merge.Text(nil, v.ours.lines(), v.theirs.lines())
	}
	kind := ModifyModify
	if v.base == nil {
		kind = AddAdd
	}
	m.conflict(v, kind, keys, lines)
	return nil
}

// byKeys merges documents by key. text is nil when a version is no document.
func byKeys(v *version) (text []byte, keys []string, err error) {
	base, okBase := v.base.document()
	ours, okOurs := v.ours.document()
	theirs, okTheirs := v.theirs.document()
	if !okBase || !okOurs || !okTheirs {
		return nil, nil, nil
	}
	var sets []string
	if v.place.Kind == document.Index {
		sets = []string{"labels"}
	}
	merged, conflicts := merge.Keys(base, ours, theirs, sets...)
	for _, way := range conflicts {
		keys = append(keys, pathOf(way))
	}
	text, err = v.place.Kind.Text(merged)
	return text, keys, err
}

// maxKey is how much is shown of each key on a path, in characters.
const maxKey = 100

func pathOf(way []string) string {
	steps := make([]any, len(way))
	for i, key := range way {
		if utf8.RuneCountInString(key) > maxKey {
			key = string([]rune(key)[:maxKey]) + "…"
		}
		steps[i] = key
	}
	return shape.Path(steps...)
}

// use puts a merged text into the result, if it is a good document. What means
// the same as theirs is left as they wrote it.
func (m *merger) use(v *version, text []byte) (done bool, err error) {
	doc, err := yamltext.ReadMap(text, m.Limits.Document)
	if err != nil || len(text) > m.Limits.FileBytes {
		return false, nil //nolint:nilerr // a fault of the text: somebody has to look at it
	}
	if m.Validate != nil {
		if err := m.Validate(v.place, doc); err != nil {
			return false, besidesFaults(err)
		}
	}
	merged := newFile(v.place, v.place.Path(), text, m.Limits.Document)
	if same(merged, v.theirs) {
		merged = v.theirs
	}
	m.take(merged)
	return true, nil
}

// besidesFaults returns err unless it is about the document.
func besidesFaults(err error) error {
	if _, refused := errors.AsType[*domain.Error](err); refused {
		return nil
	}
	if _, fault := errors.AsType[*document.Fault](err); fault {
		return nil
	}
	return err
}

// conflict leaves a file to somebody who can decide.
func (m *merger) conflict(v *version, kind Kind, keys []string, merged []byte) {
	m.result.Conflicts = append(m.result.Conflicts, Conflict{
		Path: v.path(), Kind: kind, Keys: keys,
		Base: v.base.content(), Ours: v.ours.content(), Theirs: v.theirs.content(),
		Merged: strings.ToValidUTF8(string(merged), "\ufffd"),
	})
}
