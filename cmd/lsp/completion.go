package lsp

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"svc/domain/app"
	"svc/domain/automation"
	"svc/domain/catalog"
	"svc/domain/document"
	"svc/domain/page"
	"svc/domain/shape"
)

// completer finds what can be typed at a place.
type completer struct {
	w       *workspace
	doc     *openDocument
	kind    *document.Kind
	root    *document.Map // the schema of the document
	cursor  cursor
	offset  int
	items   []completionItem
	offered map[string]bool
}

func (s *server) completion(_ context.Context, p placeParams) (any, error) {
	list := completionList{Items: []completionItem{}}
	doc := s.document(p.TextDocument.URI)
	if doc == nil {
		return list, nil
	}
	f := doc.in.files[doc.path]
	offset := doc.text.offset(p.Position)
	c := &completer{
		w: doc.in, doc: doc, kind: f.Location.Kind, root: schemaOf(f.Location.Kind), offset: offset,
		cursor: findCursor(doc.text, offset, strings.HasSuffix(doc.path, ".json")), offered: map[string]bool{},
	}
	if word, ok := templateWord(doc.text, offset); ok {
		c.template(word)
	} else if c.root != nil && !c.cursor.inBlock && !inComment(doc.text, offset) {
		schemas := schemasAt(c.root, c.cursor.path)
		if c.cursor.canBeKey {
			c.keys(schemas)
		}
		if c.cursor.canBeValue {
			c.values(schemas)
		}
	}
	list.Items = append(list.Items, c.items...)
	return list, nil
}

// inComment reports whether a place is in a comment.
func inComment(t text, offset int) bool {
	n := t.position(offset).Line
	before := t.body[t.lines[n]:offset]
	return strings.HasPrefix(strings.TrimSpace(before), "#") || strings.Contains(before, " #")
}

// add offers a text in the place of what is typed.
func (c *completer) add(item completionItem, newText string) {
	if c.offered[item.Label] {
		return
	}
	c.offered[item.Label] = true
	item.TextEdit = textEdit{c.doc.text.rangeOf(c.cursor.start, c.cursor.end), newText}
	item.SortText = strconv.Itoa(10000 + len(c.items))
	c.items = append(c.items, item)
}

// keys offers the keys of a mapping.
func (c *completer) keys(schemas []*document.Map) {
	instruction := isInstruction(c.root, schemas)
	if instruction && len(c.cursor.siblings) > 0 {
		return // an instruction has one key
	}
	for _, schema := range schemas {
		for name, property := range schema.Object("properties").All() {
			property, ok := property.(*document.Map)
			readOnly, _ := property.Get("readOnly")
			if !ok || readOnly == true || slices.Contains(c.cursor.siblings, name) {
				continue
			}
			expanded := expandSchema(c.root, property)
			item := completionItem{Label: name, Kind: completionProperty, Documentation: describe(expanded)}
			if instruction {
				item.Kind, item.Detail = completionKeyword, "instruction"
			}
			c.add(item, c.keyText(name, expanded))
		}
	}
	if instruction {
		for _, f := range c.w.documents(document.Automation) {
			item := c.automationItem(f)
			if c.cursor.hasColon || c.cursor.column < 0 {
				c.add(item, scalarText(item.Label))
			} else if f.good.Doc.Object("arguments").Len() > 0 {
				c.add(item, scalarText(item.Label)+":\n"+strings.Repeat(" ", c.cursor.column+2))
			} else {
				c.add(item, scalarText(item.Label)+": {}")
			}
		}
		for _, f := range c.w.documents(document.Import) {
			c.add(completionItem{Label: f.Location.Slug + ".", Kind: completionModule, Detail: "app instance"}, f.Location.Slug+".")
		}
	}
}

// keyText is a key and what leads to its value.
func (c *completer) keyText(name string, schemas []*document.Map) string {
	key := scalarText(name)
	switch {
	case c.cursor.hasColon:
		return key
	case c.cursor.column < 0: // flow style, or JSON
		return key + ": "
	}
	var types []string
	for _, schema := range schemas {
		types = append(types, typeNames(schema)...)
	}
	indent := "\n" + strings.Repeat(" ", c.cursor.column+2)
	switch {
	case slices.ContainsFunc(types, func(t string) bool { return t != "object" && t != "array" }) && !isBodyOrParams(schemas), len(types) == 0:
		return key + ": "
	case slices.Contains(types, "object"):
		return key + ":" + indent
	}
	return key + ":" + indent + "- "
}

// isBodyOrParams reports whether a value is usually a mapping or a list, although one template may stand for it.
func isBodyOrParams(schemas []*document.Map) bool {
	return slices.ContainsFunc(schemas, func(s *document.Map) bool {
		return s.Object("properties") != nil || s.Object("items") != nil
	})
}

// values offers the values of a field.
func (c *completer) values(schemas []*document.Map) {
	write := func(value string) string {
		if start := c.cursor.start; start > 0 && (c.doc.text.body[start-1] == '"' || c.doc.text.body[start-1] == '\'') {
			return value
		}
		value = scalarText(value)
		if start := c.cursor.start; start > 0 && c.doc.text.body[start-1] == ':' {
			return " " + value
		}
		return value
	}
	for _, item := range c.named() {
		c.add(item, write(item.Label))
	}
	for _, schema := range schemas {
		for _, word := range []string{"enum", "examples"} {
			v, _ := schema.Get(word)
			list, _ := v.([]any)
			for _, value := range list {
				if s, ok := value.(string); ok {
					c.add(completionItem{Label: s, Kind: completionValue}, write(s))
				}
			}
		}
		if slices.Contains(typeNames(schema), "boolean") {
			for _, word := range []string{"true", "false"} {
				c.add(completionItem{Label: word, Kind: completionConstant}, strings.Trim(write(word), `'"`))
			}
		}
	}
}

// nameClass is what a value names.
type nameClass int

const (
	nothingNamed nameClass = iota
	automationNamed
	eventNamed
	moduleNamed
	functionNamed
	blockNamed
	instanceNamed
	appNamed
)

// classAt returns what the value at a path names.
func classAt(kind *document.Kind, path []step) nameClass {
	key := func(back int) string { // of the path, without items, from its end
		for _, s := range slices.Backward(path) {
			if s.item {
				continue
			}
			if back--; back < 0 {
				return s.key
			}
		}
		return ""
	}
	last, before := key(0), key(1)
	switch kind {
	case document.Automation:
		switch {
		case before == "runWorkflow" && last == "workflow":
			return automationNamed
		case last == "event" && (before == "emit" || before == "stream" || before == "oneOf"), len(path) == 3 && before == "when" && last == "events":
			return eventNamed
		case before == "run" && last == "module":
			return moduleNamed
		case before == "run" && last == "function":
			return functionNamed
		}
	case document.Page, document.Index:
		switch {
		case last == "automation", before == "automation" && last == "slug":
			return automationNamed
		case shape.IsEventKey(last), last == "event" && shape.IsEventKey(before):
			return eventNamed
		case before == "blocks" && last == "slug":
			return blockNamed
		case before == "blocks" && last == "appInstance":
			return instanceNamed
		}
	case document.Test:
		switch {
		case last == "automation" && (len(path) == 1 || before == "automations"):
			return automationNamed
		case last == "type" && (before == "event" || before == "events"):
			return eventNamed
		}
	case document.Import:
		if last == "appSlug" && len(path) == 1 {
			return appNamed
		}
	}
	return nothingNamed
}

// named offers names that exist.
func (c *completer) named() (items []completionItem) {
	switch classAt(c.kind, c.cursor.path) {
	case automationNamed:
		for _, f := range c.w.documents(document.Automation) {
			items = append(items, c.automationItem(f))
		}
	case eventNamed:
		events := c.w.events()
		for _, name := range slices.Sorted(maps.Keys(events)) {
			items = append(items, completionItem{Label: name, Kind: completionEvent, Documentation: events[name]})
		}
		if path := c.cursor.path; c.kind == document.Automation && (len(path) == 3 || path[len(path)-2].item) { // listened to, not emitted
			for _, f := range catalog.Table() {
				if automation.Native(f.Name) && automation.Triggering(f.Name) {
					items = append(items, completionItem{Label: f.Name, Kind: completionEvent, Detail: "event of the platform", Documentation: f.Summary})
				}
			}
		}
	case moduleNamed:
		for name := range c.root.Object("x-modules").All() {
			items = append(items, completionItem{Label: name, Kind: completionModule})
		}
	case functionNamed:
		for name, functions := range c.root.Object("x-modules").All() {
			list, _ := functions.([]any)
			for _, f := range list {
				if f, ok := f.(string); ok {
					items = append(items, completionItem{Label: f, Kind: completionFunction, Detail: name})
				}
			}
		}
	case blockNamed:
		for name := range c.w.index().document().Object("blocks").All() {
			items = append(items, completionItem{Label: name, Kind: completionModule, Detail: "block of the workspace"})
		}
		for _, name := range page.BuiltIn {
			items = append(items, completionItem{Label: name, Kind: completionModule, Detail: "built-in block"})
		}
	case instanceNamed:
		for _, f := range c.w.documents(document.Import) {
			items = append(items, completionItem{Label: f.Location.Slug, Kind: completionModule, Detail: "app instance"})
		}
	case appNamed:
		for _, a := range app.BuiltIns() {
			items = append(items, completionItem{Label: a.Slug, Kind: completionModule, Detail: "built-in app", Documentation: a.Description.First()})
		}
	}
	return items
}

func (c *completer) automationItem(f *inspected) completionItem {
	title, text := f.titles()
	return completionItem{Label: f.Location.Slug, Kind: completionFunction, Detail: strings.TrimSpace("automation " + title), Documentation: text}
}

// documents returns the files of a kind, sorted by path.
func (w *workspace) documents(kind *document.Kind) (all []*inspected) {
	for _, path := range w.paths() {
		if f := w.files[path]; f.Location.Kind == kind {
			all = append(all, f)
		}
	}
	return all
}

// document returns what a file says; nil when there is none.
func (f *inspected) document() *document.Map {
	if f == nil {
		return nil
	}
	return f.good.Doc
}

// titles returns the name and the description of a document.
func (f *inspected) titles() (name, description string) {
	first := func(key string) string {
		v, _ := f.document().Get(key)
		text, _ := document.AsLocalized(v)
		return text.First()
	}
	return first("name"), first("description")
}

// events returns the events of the workspace: declared, emitted or listened to; with who does.
func (w *workspace) events() map[string]string {
	all := map[string]string{}
	for name := range w.index().document().Object("events").Object("types").All() {
		all[name] = ""
	}
	for _, path := range w.paths() {
		for _, use := range w.files[path].good.Uses {
			if use.Kind != automation.Call && !strings.HasSuffix(use.Name, "*") {
				all[use.Name] = ""
			}
		}
	}
	for name := range all {
		all[name] = w.aboutEvent(name)
	}
	return all
}

// templateStart matches what is typed of a variable or a function at the end of a template that is open.
var templateStart = regexp.MustCompile(`(?:\{\{|\{%)(?:[^{}"']|"[^"]*"|'[^']*')*?([A-Za-z0-9_$.-]*)$`)

// templateWord returns what is typed of a variable in a template; false outside of templates.
func templateWord(t text, offset int) (string, bool) {
	n := t.position(offset).Line
	before := t.body[t.lines[n]:offset]
	if open := max(strings.LastIndex(before, "{{"), strings.LastIndex(before, "{%")); open >= 0 {
		if found := templateStart.FindStringSubmatch(before[open:]); found != nil {
			return found[1], true
		}
	}
	return "", false
}

// template offers variables and functions in a template.
func (c *completer) template(word string) {
	base, _ := cutLast(word)
	c.cursor.start, c.cursor.end = c.offset-len(word), c.offset
	if base != "" {
		c.cursor.start += len(base) + 1
	}
	offer := func(detail string, names ...string) {
		for _, name := range names {
			c.add(completionItem{Label: name, Kind: completionVariable, Detail: detail}, name)
		}
	}
	index := c.w.index().document()
	switch base {
	case "secret":
		offer("secret", slices.Sorted(maps.Keys(c.w.secrets()))...)
	case "config":
		config := index.Object("config")
		offer("config", config.Object("schema").Keys()...)
		offer("config", config.Object("value").Keys()...)
	case "":
		offer("variable of this document", variables(c.w.files[c.doc.path].document())...)
		offer("variable of the platform", automation.KnownVariables()...)
		for name, about := range functions() {
			c.add(completionItem{Label: name, Kind: completionFunction, Detail: about.Text("signature"), Documentation: about.Text("description")}, name)
		}
	}
}

// cutLast cuts s at its last dot.
func cutLast(s string) (before, after string) {
	i := strings.LastIndexByte(s, '.')
	return s[:max(i, 0)], s[i+1:]
}

// functions are the functions of expressions, by name, with what the schema of automations says of them.
func functions() map[string]*document.Map {
	all := map[string]*document.Map{}
	v, _ := schemaOf(document.Automation).Get("x-functions")
	list, _ := v.([]any)
	for _, f := range list {
		if f, ok := f.(*document.Map); ok {
			all[f.Text("name")] = f
		}
	}
	return all
}

var secretName = regexp.MustCompile(`\bsecret\.([A-Za-z0-9_-]+)`)

// secrets returns the names of the secrets that the index declares and that files use.
func (w *workspace) secrets() map[string]bool {
	all := map[string]bool{}
	for name := range w.index().document().Object("secrets").Object("schema").All() {
		all[name] = true
	}
	for _, f := range w.files {
		if f.Doc != nil { // not the one that is being typed
			for _, found := range secretName.FindAllStringSubmatch(f.text.body, -1) {
				all[found[1]] = true
			}
		}
	}
	return all
}

// variables returns the variables that a document declares or sets, in its order.
func variables(doc *document.Map) (names []string) {
	add := func(name string) {
		name, _, _ = strings.Cut(name, ".")
		name, _, _ = strings.Cut(name, "[")
		if name != "" && !strings.Contains(name, "{") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for name := range doc.Object("arguments").All() {
		add(name)
	}
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				visit(item)
			}
		case *document.Map:
			add(v.Object("set").Text("name"))
			for key, inner := range v.All() {
				if target, ok := inner.(string); ok && key == "output" {
					add(target)
				}
				visit(inner)
			}
		}
	}
	do, _ := doc.Get("do")
	visit(do)
	return names
}
