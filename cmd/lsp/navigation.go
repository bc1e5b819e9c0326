package lsp

import (
	"cmp"
	"context"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"svc/commands/archive"
	"svc/commands/yamltext"
	"svc/domain/automation"
	"svc/domain/catalog"
	"svc/domain/document"
	"svc/domain/shape"
)

// span is a part of a text, in bytes.
type span struct{ start, end int }

// spanOf returns where a name stands that begins at a position, without quotes; false when something else does.
func (t text) spanOf(p yamltext.Position, name string) (span, bool) {
	start := t.at(p)
	rest := t.body[start:]
	quote := ""
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		quote, rest, start = rest[:1], rest[1:], start+1
	}
	after, ok := strings.CutPrefix(rest, name)
	ends := after == "" || strings.IndexByte(" \t\r\n:,}]", after[0]) >= 0
	if quote != "" {
		ends = strings.HasPrefix(after, quote)
	}
	return span{start, start + len(name)}, ok && ends && name != ""
}

// useSpan returns where a use stands in the text of its file.
func (f *inspected) useSpan(use automation.Use) (span, bool) {
	key, value, ok := f.Source.Find(use.Field)
	if !ok {
		return span{}, false
	}
	if use.IsKey {
		value = key
	}
	if at, ok := f.text.spanOf(value, use.Name); ok {
		return at, true
	}
	_, local := cutLast(use.Name) // in a block of an app instance, whose name the events have before theirs
	return f.text.spanOf(value, local)
}

// keySpan returns where the key of a field stands.
func (f *inspected) keySpan(steps ...any) (span, bool) {
	name, _ := steps[len(steps)-1].(string)
	key, _, ok := f.Source.Find(shape.Path(steps...))
	if !ok {
		return span{}, false
	}
	return f.text.spanOf(key, name)
}

// slugSpan returns where the slug of a document stands.
func (f *inspected) slugSpan() (span, bool) {
	_, value, ok := f.Source.Find("slug")
	if !ok {
		return span{}, false
	}
	return f.text.spanOf(value, f.Doc.Text("slug"))
}

// target is something that files name.
type target struct {
	kind targetKind
	name string
	span // where the cursor is
}

type targetKind int

const (
	automationTarget targetKind = iota + 1
	eventTarget
	secretTarget
	configTarget
)

// settingName matches the name of a secret or a setting in a template.
var settingName = regexp.MustCompile(`\b(secret|config)\.([A-Za-z0-9_-]+)`)

// targetAt returns what is named at a place of a document.
func (w *workspace) targetAt(doc *openDocument, offset int) (target, bool) {
	f := w.files[doc.path].good
	if f.Source == nil {
		return target{}, false
	}
	at := func(s span, ok bool) bool { return ok && s.start <= offset && offset <= s.end }
	for _, use := range f.Uses {
		if s, ok := f.useSpan(use); at(s, ok) && doc.text.body[min(s.start, len(doc.text.body)):min(s.end, len(doc.text.body))] == f.text.body[s.start:s.end] {
			if use.Kind == automation.Call {
				return target{automationTarget, use.Name, s}, true
			}
			return target{eventTarget, use.Name, s}, true
		}
	}
	if f.text.body != doc.text.body { // it is being typed
		return target{}, false
	}
	if s, ok := f.slugSpan(); f.Location.Kind == document.Automation && at(s, ok) {
		return target{automationTarget, f.Location.Slug, s}, true
	}
	if f.Location.Kind == document.Index {
		for name := range f.Doc.Object("events").Object("types").All() {
			if s, ok := f.keySpan("events", "types", name); at(s, ok) {
				return target{eventTarget, name, s}, true
			}
		}
	}
	n := doc.text.position(offset).Line
	for _, found := range settingName.FindAllStringSubmatchIndex(doc.text.line(n), -1) {
		begin := doc.text.lines[n]
		if s := (span{begin + found[4], begin + found[5]}); at(s, true) {
			kind := secretTarget
			if doc.text.body[begin+found[2]:begin+found[3]] == "config" {
				kind = configTarget
			}
			return target{kind, doc.text.body[s.start:s.end], s}, true
		}
	}
	return target{}, false
}

// place is where something stands.
type place struct {
	file *inspected
	span
}

// location returns a place as the client knows it.
func (w *workspace) location(p place) location {
	return location{w.server.uri(w.file(p.file.Path)), p.file.text.rangeOf(p.start, p.end)}
}

func (w *workspace) locations(places []place) []location {
	all := []location{}
	for _, p := range places {
		all = append(all, w.location(p))
	}
	return all
}

// uses returns the places at which files name what is wanted.
func (w *workspace) uses(wanted func(automation.Use) bool) (found []place) {
	for _, name := range w.paths() {
		f := w.files[name].good
		for _, use := range f.Uses {
			if s, ok := f.useSpan(use); ok && wanted(use) {
				found = append(found, place{f, s})
			}
		}
	}
	return found
}

// isSameEvent reports whether two names, which may be patterns, are of the same events.
func isSameEvent(a, b string) bool {
	return a == b || automation.MatchEvent(a, b) || automation.MatchEvent(b, a)
}

// declaration returns where a target is defined.
func (w *workspace) declaration(t target) (found []place) {
	index := w.index()
	inIndex := func(steps ...any) {
		if index == nil || index.Source == nil {
			return
		}
		if s, ok := index.keySpan(steps...); ok {
			found = append(found, place{index, s})
		}
	}
	switch t.kind {
	case automationTarget:
		if f := w.automation(t.name); f != nil {
			f = f.good
			s := span{}
			if f.Source != nil {
				s, _ = f.slugSpan()
			}
			found = append(found, place{f, s})
		}
	case eventTarget:
		for name := range index.document().Object("events").Object("types").All() {
			if isSameEvent(t.name, name) {
				inIndex("events", "types", name)
			}
		}
	case secretTarget:
		inIndex("secrets", "schema", t.name)
	case configTarget:
		if inIndex("config", "schema", t.name); len(found) == 0 {
			inIndex("config", "value", t.name)
		}
	}
	return found
}

func (s *server) definition(_ context.Context, p placeParams) (any, error) {
	doc := s.document(p.TextDocument.URI)
	if doc == nil {
		return nil, nil
	}
	t, ok := doc.in.targetAt(doc, doc.text.offset(p.Position))
	if !ok {
		return nil, nil
	}
	found := doc.in.declaration(t)
	if len(found) == 0 && t.kind == eventTarget { // an event that is not declared is defined where it is emitted
		found = doc.in.uses(func(use automation.Use) bool { return use.Kind == automation.Emission && isSameEvent(t.name, use.Name) })
	}
	return doc.in.locations(found), nil
}

func (s *server) references(_ context.Context, p placeParams) (any, error) {
	doc := s.document(p.TextDocument.URI)
	if doc == nil {
		return nil, nil
	}
	t, ok := doc.in.targetAt(doc, doc.text.offset(p.Position))
	if !ok {
		return nil, nil
	}
	var found []place
	switch t.kind {
	case automationTarget:
		found = doc.in.uses(func(use automation.Use) bool { return use.Kind == automation.Call && use.Name == t.name })
	case eventTarget:
		found = doc.in.uses(func(use automation.Use) bool { return use.Kind != automation.Call && isSameEvent(t.name, use.Name) })
	case secretTarget, configTarget:
		found = doc.in.settingUses(t)
	}
	if p.Context.IncludeDeclaration {
		found = append(doc.in.declaration(t), found...)
	}
	return doc.in.locations(found), nil
}

// settingUses returns the templates that name a secret or a setting.
func (w *workspace) settingUses(t target) (found []place) {
	for _, name := range w.paths() {
		f := w.files[name]
		for _, at := range settingName.FindAllStringSubmatchIndex(f.text.body, -1) {
			ofSecret := f.text.body[at[2]:at[3]] == "secret"
			if f.text.body[at[4]:at[5]] == t.name && ofSecret == (t.kind == secretTarget) {
				found = append(found, place{f, span{at[4], at[5]}})
			}
		}
	}
	return found
}

// aboutEvent says in a few words who has to do with an event.
func (w *workspace) aboutEvent(name string) string {
	var lines []string
	for _, f := range catalog.Table() {
		if f.Name == name {
			lines = append(lines, f.Summary)
		}
	}
	for _, who := range []struct {
		kind automation.UseKind
		word string
	}{{automation.Emission, "Emitted by "}, {automation.Listening, "Listened to by "}} {
		var files []string
		for _, p := range w.paths() {
			f := w.files[p].good
			if slices.ContainsFunc(f.Uses, func(use automation.Use) bool { return use.Kind == who.kind && isSameEvent(name, use.Name) }) {
				files = append(files, p)
			}
		}
		if len(files) > 0 {
			lines = append(lines, who.word+strings.Join(files, ", "))
		}
	}
	return strings.Join(lines, "\n\n")
}

func (s *server) hover(_ context.Context, p placeParams) (any, error) {
	doc := s.document(p.TextDocument.URI)
	if doc == nil {
		return nil, nil
	}
	w, offset := doc.in, doc.text.offset(p.Position)
	shown := func(at span, title, about string) (any, error) {
		if about == "" {
			return nil, nil
		}
		value := strings.TrimSpace("**" + title + "**\n\n" + about)
		return hoverResult{markup{"markdown", value}, doc.text.rangeOf(at.start, at.end)}, nil
	}
	if t, ok := w.targetAt(doc, offset); ok {
		switch t.kind {
		case automationTarget:
			if f := w.automation(t.name); f != nil {
				title, text := f.titles()
				return shown(t.span, t.name, strings.Join(slices.DeleteFunc([]string{title, text, "Automation in " + f.Path}, func(s string) bool { return s == "" }), "\n\n"))
			}
		case eventTarget:
			return shown(t.span, t.name, cmp.Or(w.aboutEvent(t.name), "An event."))
		}
	}
	if at, about, ok := functionAt(doc.text, offset); ok {
		return shown(at, about.Text("name"), "`"+about.Text("signature")+"`\n\n"+about.Text("description"))
	}
	kind := w.files[doc.path].Location.Kind
	root := schemaOf(kind)
	if root == nil || inComment(doc.text, offset) {
		return nil, nil
	}
	c := findCursor(doc.text, offset, strings.HasSuffix(doc.path, ".json"))
	if c.inBlock || c.start >= c.end && !c.canBeValue {
		return nil, nil
	}
	path := c.path
	if c.canBeKey && c.hasColon {
		path = append(slices.Clone(path), step{key: doc.text.body[c.start:c.end]})
	}
	if len(path) == 0 {
		return nil, nil
	}
	title := path[len(path)-1].key
	for i := len(path) - 1; i >= 0 && path[i].item; i-- {
		title = path[max(i-1, 0)].key
	}
	return shown(span{c.start, c.end}, title, describe(schemasAt(root, path)))
}

// functionAt returns the function of an expression at a place.
func functionAt(t text, offset int) (at span, about *document.Map, ok bool) {
	if _, inside := templateWord(t, offset); !inside {
		return at, nil, false
	}
	isName := func(c byte) bool {
		return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	at = span{offset, offset}
	for at.start > 0 && isName(t.body[at.start-1]) {
		at.start--
	}
	for at.end < len(t.body) && isName(t.body[at.end]) {
		at.end++
	}
	about, ok = functions()[t.body[at.start:at.end]]
	return at, about, ok
}

func (s *server) prepareRename(_ context.Context, p placeParams) (any, error) {
	doc, t, err := s.renamed(p)
	if err != nil {
		return nil, err
	}
	return prepareResult{doc.text.rangeOf(t.start, t.end), t.name}, nil
}

// renamed returns the automation that is named at a place.
func (s *server) renamed(p placeParams) (*openDocument, target, error) {
	doc := s.document(p.TextDocument.URI)
	if doc != nil {
		t, ok := doc.in.targetAt(doc, doc.text.offset(p.Position))
		if ok && t.kind == automationTarget && doc.in.automation(t.name) != nil {
			return doc, t, nil
		}
	}
	return nil, target{}, refuse("nothing can be renamed here: put the cursor on the slug of an automation, or where it is called")
}

func (s *server) rename(_ context.Context, p placeParams) (any, error) {
	doc, t, err := s.renamed(p)
	if err != nil {
		return nil, err
	}
	if !s.canRenameFiles {
		return nil, refuse("a new slug is a new name of the file, and this editor cannot rename files for a language server")
	}
	changes, err := doc.in.renameAutomation(t.name, p.NewName)
	if err != nil {
		return nil, err
	}
	f := doc.in.automation(t.name)
	to := document.Automation.Folder + "/" + p.NewName + path.Ext(f.Path)
	changes = append(changes, renameFile{"rename", s.uri(doc.in.file(f.Path)), fileURI(doc.in.file(to))})
	return workspaceEdit{changes}, nil
}

// willRenameFiles changes what refers to automations whose files are about to be renamed.
func (s *server) willRenameFiles(_ context.Context, p renameFilesParams) (any, error) {
	var all []any
	for _, file := range p.Files {
		from, ok := pathOf(file.OldURI)
		to, isFile := pathOf(file.NewURI)
		if !ok || !isFile {
			continue
		}
		w, name := s.locate(from)
		if w == nil {
			continue
		}
		moved, err := filepath.Rel(w.dir, to)
		if err != nil {
			continue
		}
		before, _ := archive.Locate(name)
		after, ok := archive.Locate(filepath.ToSlash(moved))
		if !ok || before.Kind != document.Automation || after.Kind != document.Automation || before.Slug == after.Slug || w.automation(before.Slug) == nil {
			continue
		}
		changes, err := w.renameAutomation(before.Slug, after.Slug)
		if err != nil {
			return nil, err
		}
		all = append(all, changes...)
	}
	if all == nil {
		return nil, nil
	}
	return workspaceEdit{all}, nil
}

// renameAutomation returns the edits that give an automation another slug and change everything that calls it. It
// refuses when it cannot know all of that.
func (w *workspace) renameAutomation(from, to string) (changes []any, err error) {
	if problem := automation.SlugProblem(to, automation.Rules{}); problem != "" {
		return nil, refuse("%q: %s", to, problem)
	}
	switch {
	case !document.Automation.HasSlug(to):
		return nil, refuse("%q cannot be the slug of an automation", to)
	case w.automation(to) != nil:
		return nil, refuse("there is an automation %q already", to)
	case slices.ContainsFunc(automation.InstructionNames(), func(name string) bool { return strings.EqualFold(name, to) }):
		return nil, refuse("%q is an instruction: what calls the automation would execute that", to)
	}
	for _, name := range w.paths() {
		f := w.files[name]
		if f.Doc == nil {
			return nil, refuse("%s cannot be read, so it is not known what it calls: correct it first", name)
		}
		var places []span
		for _, use := range f.Uses {
			if use.Kind != automation.Call || use.Name != from {
				continue
			}
			s, ok := f.useSpan(use)
			if !ok {
				return nil, refuse("%s:%d calls it in a form that cannot be changed here", name, f.Source.Position(use.Field).Line)
			}
			places = append(places, s)
		}
		if f.Location.Kind == document.Automation && f.Location.Slug == from && f.Doc.Text("slug") != "" {
			s, ok := f.slugSpan()
			if !ok {
				return nil, refuse("%s:%d has a slug in a form that cannot be changed here", name, f.Source.Position("slug").Line)
			}
			places = append(places, s)
		}
		if len(places) == 0 {
			continue
		}
		edit := textDocumentEdit{TextDocument: versionedID{URI: w.server.uri(w.file(name))}}
		if doc := w.server.open[w.file(name)]; doc != nil {
			edit.TextDocument.Version = &doc.version
		}
		for _, s := range places {
			edit.Edits = append(edit.Edits, textEdit{f.text.rangeOf(s.start, s.end), f.text.replacement(s, to)})
		}
		changes = append(changes, edit)
	}
	return changes, nil
}

// replacement is how a name is written in the place of another.
func (t text) replacement(at span, name string) string {
	if at.start > 0 && (t.body[at.start-1] == '"' || t.body[at.start-1] == '\'') {
		return name
	}
	return scalarText(name)
}
