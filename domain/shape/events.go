package shape

import (
	"slices"
	"strings"

	"svc/domain/document"
)

// The keys at which a block names events (contract/pages.md 4), and those below
// which there is nothing but data.
var (
	emitKeys   = strings.Fields("onInit onSubmit onChange onSort onSelect onClose pagination")
	listenKeys = strings.Fields("updateOn notifyOn updateRowOn openOn closeOn toastOn")
	dataKeys   = strings.Fields("payload values data schema automation")
)

// PageEvents returns the types of the events that a page and its blocks emit and
// listen to, each once, in the order of the document. Those that a template names
// are not known.
func PageEvents(doc *document.Map) (emit, listen []string) {
	var e pageEvents
	for key, v := range doc.All() {
		switch key {
		case "onInit":
			e.emit.add("", v)
		case "updateOn", "notifyOn":
			e.listen.add("", v)
		case "blocks":
			e.find(v, "")
		}
	}
	return e.emit.list(), e.listen.list()
}

type pageEvents struct{ emit, listen types }

// find looks for events in v, a part of a block whose events begin with prefix.
func (e *pageEvents) find(v any, prefix string) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			e.find(item, prefix)
		}
	case *document.Map:
		if isBlock(v) {
			prefix = instance(v)
		}
		e.own(v, prefix)
	}
}

// own takes the events that one object names.
func (e *pageEvents) own(m *document.Map, prefix string) {
	if kind := m.Text("type"); kind == "event" || kind == "upload" {
		e.emit.add(prefix, m.Text("value"))
	}
	for key, v := range m.All() {
		switch {
		case slices.Contains(emitKeys, key):
			e.emit.add(prefix, v)
		case slices.Contains(listenKeys, key):
			e.listen.add(prefix, v)
		case !slices.Contains(dataKeys, key):
			e.find(v, prefix)
		}
	}
}

// instance returns what the names of a block's events begin with: the app
// instance that it is of, if it is of one.
func instance(block *document.Map) string {
	if name := block.Text("appInstance"); name != "" {
		return name + "."
	}
	return block.Text("slug")[:strings.LastIndex(block.Text("slug"), ".")+1]
}

// types are types of events, each once.
type types struct {
	all  []string
	seen map[string]bool
}

// add adds the type that v names: an event's name, or an object with one.
func (t *types) add(prefix string, v any) {
	name, _ := v.(string)
	if m, ok := v.(*document.Map); ok {
		name = m.Text("event")
	}
	if name == "" || isTemplate(name) || t.seen[prefix+name] {
		return
	}
	if t.seen == nil {
		t.seen = map[string]bool{}
	}
	t.seen[prefix+name] = true
	t.all = append(t.all, prefix+name)
}

// list returns the types; an empty list is no null.
func (t *types) list() []string { return append([]string{}, t.all...) }
