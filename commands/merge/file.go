package merge

import (
	"bytes"

	"svc/commands/archive"
	"svc/commands/yamltext"
	"svc/domain/document"
)

// file is one object in one tree. It is read when somebody asks what it means:
// most files of most trees are the same bytes.
type file struct {
	place  archive.Place
	path   string
	text   []byte // never nil
	limits document.Limits

	asked     bool
	canonical []byte // nil: cannot be read
}

func newFile(p archive.Place, path string, text []byte, limits document.Limits) *file {
	if text == nil {
		text = []byte{}
	}
	return &file{place: p, path: path, text: text, limits: limits}
}

// meaning returns the canonical text; nil when the file cannot be read.
func (f *file) meaning() []byte {
	if !f.asked {
		f.asked = true
		if text, err := archive.Canonical(f.place, f.text, f.limits); err == nil {
			f.canonical = text
		}
	}
	return f.canonical
}

// lines returns what is merged line by line: the canonical text, or what there is
// of a file that cannot be read or is not there.
func (f *file) lines() []byte {
	switch {
	case f == nil:
		return nil
	case f.meaning() == nil:
		return f.text
	default:
		return f.meaning()
	}
}

// document returns what the file says, nothing when it is not there. ok is false
// when it cannot be read.
func (f *file) document() (doc *document.Map, ok bool) {
	if f == nil {
		return nil, true
	}
	if f.meaning() == nil {
		return nil, false
	}
	doc, err := yamltext.ReadMap(f.meaning(), f.limits)
	return doc, err == nil
}

// content returns the bytes of the file, nil when it is not there.
func (f *file) content() []byte {
	if f == nil {
		return nil
	}
	return f.text
}

// same reports whether two files mean the same, or neither is there.
func same(a, b *file) bool {
	switch {
	case a == nil || b == nil:
		return a == b
	case bytes.Equal(a.text, b.text):
		return true
	default:
		return a.meaning() != nil && bytes.Equal(a.meaning(), b.meaning())
	}
}
