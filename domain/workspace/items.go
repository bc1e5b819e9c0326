package workspace

import (
	"encoding/json"
	"iter"
	"strconv"
	"strings"
	"unicode"

	"svc/domain"
	"svc/domain/persistent"
)

// Items are the documents of a workspace by path, as decisions know them, in the order of their
// paths. They never change: a change returns others, which share all but the changed document.
// What decisions ask besides is indexed, so that no decision looks at all documents.
type Items struct {
	byPath persistent.Map[Item]
	// names has a key for each name that a document has: nameKey, then the path.
	names     persistent.Map[struct{}]
	instances int // how many of them are app instances
	bases     int // … and knowledge bases
}

// Kinds of names of documents.
const (
	foldedName   = 'f' // the path, for those that differ in case only
	endpointName = 'e' // the path that an automation answers
	idName       = 'i' // the id of a page or a knowledge base
	appName      = 'a' // the app of an instance
)

// NewItems returns the Items of a map.
func NewItems(byPath map[string]Item) Items {
	s := Items{byPath: persistent.Collect(byPath)}
	names := map[string]struct{}{}
	for path, item := range byPath {
		for _, name := range namesOf(path, item) {
			names[name] = struct{}{}
		}
		s.count(path, 1)
	}
	s.names = persistent.Collect(names)
	return s
}

// namesOf returns the keys of the names of a document.
func namesOf(path string, item Item) []string {
	names := []string{nameKey(foldedName, foldCase(path)) + path}
	for kind, name := range map[rune]string{endpointName: item.Endpoint, idName: item.ID, appName: item.App} {
		if name != "" {
			names = append(names, nameKey(kind, name)+path)
		}
	}
	return names
}

// nameKey returns what the keys of a name begin with. No other name begins the same.
func nameKey(kind rune, name string) string {
	return string(kind) + strconv.Itoa(len(name)) + ":" + name
}

// foldCase returns the same text for all texts that strings.EqualFold takes for equal.
func foldCase(text string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, text)
}

// Len returns how many documents there are.
func (s Items) Len() int { return s.byPath.Len() }

// IsZero reports whether there are none.
func (s Items) IsZero() bool { return s.byPath.IsZero() }

// At returns the document at a path, the zero Item when there is none.
func (s Items) At(path string) Item { return s.byPath.At(path) }

// Get returns the document at a path, and whether there is one.
func (s Items) Get(path string) (Item, bool) { return s.byPath.Get(path) }

// Has reports whether there is a document at a path.
func (s Items) Has(path string) bool { return s.byPath.Has(path) }

// All visits all documents in the order of their paths. Imports and restorations of everything
// need it, and no change of one document.
func (s Items) All() iter.Seq2[string, Item] { return s.byPath.All() }

// Paths visits the paths of all documents in their order.
func (s Items) Paths() iter.Seq[string] { return s.byPath.Keys() }

// LikePath visits the paths that differ from a path in case only, and the path itself if there is
// a document.
func (s Items) LikePath(path string) iter.Seq[string] { return s.named(foldedName, foldCase(path)) }

// WithEndpoint visits the paths of the automations that answer an endpoint.
func (s Items) WithEndpoint(endpoint string) iter.Seq[string] {
	return s.named(endpointName, endpoint)
}

// WithApp visits the paths of the instances of an app.
func (s Items) WithApp(app string) iter.Seq[string] { return s.named(appName, app) }

// WithID visits the paths of the documents with an id.
func (s Items) WithID(id string) iter.Seq[string] { return s.named(idName, id) }

func (s Items) named(kind rune, name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		prefix := nameKey(kind, name)
		for key := range s.names.Prefix(prefix) {
			if !yield(key[len(prefix):]) {
				return
			}
		}
	}
}

// Set returns s with another document at a path.
func (s Items) Set(path string, item Item) Items {
	if was, ok := s.byPath.Get(path); !ok || was.Endpoint != item.Endpoint || was.ID != item.ID || was.App != item.App {
		s = s.Delete(path)
		for _, name := range namesOf(path, item) {
			s.names = s.names.Set(name, struct{}{})
		}
		s.count(path, 1)
	}
	s.byPath = s.byPath.Set(path, item)
	return s
}

// Delete returns s without the document at a path.
func (s Items) Delete(path string) Items {
	item, ok := s.byPath.Get(path)
	if !ok {
		return s
	}
	s.byPath = s.byPath.Delete(path)
	for _, name := range namesOf(path, item) {
		s.names = s.names.Delete(name)
	}
	s.count(path, -1)
	return s
}

// count adds n to the number of documents of the kind that a path has, when that is limited.
func (s *Items) count(path string, n int) {
	switch folder, _ := Folder(path); folder {
	case "imports":
		s.instances += n
	case "knowledge":
		s.bases += n
	}
}

// MarshalJSON implements json.Marshaler: the same as of a map. Snapshots of a workspace consist of it.
func (s Items) MarshalJSON() (body []byte, err error) {
	body = append(make([]byte, 0, 2+s.Len()*itemRoom), '{')
	for path, item := range s.byPath.All() {
		if len(body) > 1 {
			body = append(body, ',')
		}
		o := domain.NewObjectEncoder(append(domain.AppendText(body, path), ':'))
		item.encode(&o)
		if body, err = o.End(); err != nil {
			return nil, err
		}
	}
	return append(body, '}'), nil
}

// itemRoom is what an item takes as JSON with its path, about.
const itemRoom = 160

func (i *Item) encode(o *domain.ObjectEncoder) {
	o.Text("hash", i.Hash)
	o.Encoded("revision", strconv.AppendUint(nil, i.Revision, 10))
	o.TextIfAny("id", i.ID)
	o.IfTrue("public", i.Public)
	o.TextIfAny("endpoint", i.Endpoint)
	o.TextIfAny("app", i.App)
	if len(i.Sealed) > 0 {
		o.Any("sealed", i.Sealed)
	}
	if len(i.HiddenPaths) > 0 {
		o.Any("untold", i.HiddenPaths)
	}
	if len(i.Shares) > 0 {
		o.Any("shares", i.Shares)
	}
	o.TextIfAny("frozen", i.Frozen)
	if i.Published != nil {
		o.Any("published", i.Published)
	}
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Items) UnmarshalJSON(body []byte) error {
	var byPath map[string]Item
	err := json.Unmarshal(body, &byPath)
	*s = NewItems(byPath)
	return err
}
