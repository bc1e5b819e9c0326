package programs

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"

	"svc/commands/content"
	"svc/domain/automation"
	"svc/domain/document"
	"svc/domain/persistent"
	"svc/domain/value"
	"svc/domain/workspace"
)

// programIndex finds the programs of a program set. It consists of persistent maps: the index of
// the next program set shares all but what a change concerns.
type programIndex struct {
	instances persistent.Map[*instance] // by full slug
	apps      persistent.Map[appUse]    // by appKey
	secrets   persistent.Map[struct{}]  // full slugs of instances whose config may hold secrets
	endpoints persistent.Map[programID] // by endpointKey
	listeners persistent.Map[programID] // by listenerKey
	scheduled persistent.Map[programID] // by name
	tools     persistent.Map[programID] // those that MCP clients may call, by toolKey
	programs  int                       // how many there are, disabled ones too
	installed int                       // how many instances have an app that exists
}

// programID identifies a program in its workspace.
type programID struct{ instance, slug string }

// name returns the name of a program in the workspace.
func (id programID) name() string { return namePrefix(id.instance) + id.slug }

// namePrefix returns what the names of the programs of an instance begin with.
func namePrefix(instance string) string {
	if instance == "" {
		return ""
	}
	return instance + "."
}

// instance is an app instance, at any depth. It never changes. Without compiled content its app
// never existed.
type instance struct {
	name      string // full slug
	parent    string // full slug of the instance that it is in, "" for the workspace
	namespace Namespace
	install   install
	compiled  *compiledContent
	functions map[string]*compiledDocument // made of its config, by name
	limit     string                       // the first automation that is left out; "": none is
	depth     int                          // 1 for those of the workspace itself
}

// appUse is the content that an app has in a program set, and how many instances use it.
type appUse struct {
	slug, version string
	content       contentKey
	instances     int
}

// appKey names a version of an app as an instance asks for it.
func appKey(in install) string { return in.app + "\x00" + in.version }

// useApp notes that an instance uses an app. When others use another content of it, that one stays
// on record: then all of them are looked at again.
func (x *programIndex) useApp(in install, at contentKey) {
	use, ok := x.apps.Get(appKey(in))
	if !ok {
		use = appUse{in.app, in.version, at, 0}
	}
	use.instances++
	x.apps = x.apps.Set(appKey(in), use)
}

// releaseApp notes that an instance is gone.
func (x *programIndex) releaseApp(in install) {
	use := x.apps.At(appKey(in))
	if use.instances--; use.instances > 0 {
		x.apps = x.apps.Set(appKey(in), use)
	} else {
		x.apps = x.apps.Delete(appKey(in))
	}
}

// addProgram adds a program and its triggers.
func (x *programIndex) addProgram(id programID, c *compiledDocument) {
	x.programs++
	for key, at := range x.triggersOf(id, c) {
		*at = at.Set(key, id)
	}
}

// removeProgram removes a program and its triggers.
func (x *programIndex) removeProgram(id programID, c *compiledDocument) {
	x.programs--
	for key, at := range x.triggersOf(id, c) {
		*at = at.Delete(key)
	}
}

// triggersOf returns the keys of the triggers of a program, with the map of each.
func (x *programIndex) triggersOf(id programID, c *compiledDocument) map[string]*persistent.Map[programID] {
	if c.Disabled {
		return nil
	}
	keys := map[string]*persistent.Map[programID]{}
	if c.When.Endpoint != nil { // private automations too: an endpoint is declared to be called
		keys[endpointKey(id.instance, c.When.Endpoint.Pattern())+"\x00"+id.slug] = &x.endpoints
	}
	if len(c.When.Schedules) > 0 && (!c.Private || id.instance == "") { // schedules of private automations of an app run only in its own workspace
		keys[id.name()] = &x.scheduled
	}
	if id.instance == "" && !c.Private && slices.Contains(c.Labels, ToolLabel) {
		keys[toolKey+id.slug] = &x.tools
	}
	for _, pattern := range c.When.Events {
		keys[listenerKey(pattern, id.instance)+id.slug] = &x.listeners
	}
	return keys
}

// toolKey is what the keys of tools begin with.
const toolKey = "t\x00"

// endpointKey is what the keys of the endpoints of an instance begin with whose patterns begin
// with a pattern.
func endpointKey(instance, pattern string) string { return "e" + instance + "\x00" + pattern }

// listenerKey is what the keys of the programs of an instance begin with that listen to a pattern.
func listenerKey(pattern, instance string) string { return "l" + pattern + "\x00" + instance + "\x00" }

// listening visits the programs of an instance that listen to a type of event.
func (x *programIndex) listening(instance, eventType string) (found []programID) {
	find := func(pattern string) {
		for _, id := range x.listeners.Prefix(listenerKey(pattern, instance)) {
			found = append(found, id)
		}
	}
	find(eventType)
	for i := range len(eventType) - 1 {
		if eventType[i] == '.' {
			find(eventType[:i+1] + "*")
		}
	}
	return found
}

// findEndpoint returns the program of an instance that answers an escaped path: from the left, a
// literal segment is chosen before a parameter, and that before a rest.
func (x *programIndex) findEndpoint(instance, escaped string) (id programID, found bool) {
	parts := strings.Split(strings.TrimSuffix(escaped, "/"), "/")
	first := x.endpoints.First
	var find func(prefix string, i int) (programID, bool)
	find = func(prefix string, i int) (id programID, found bool) {
		if i == len(parts) {
			return first(prefix + "\x00")
		}
		if _, any := first(prefix); !any {
			return id, false
		}
		if decoded, err := url.PathUnescape(parts[i]); err == nil && parts[i] != "" {
			if !strings.ContainsAny(decoded, "/\x00") {
				id, found = find(prefix+automation.LiteralSegment(decoded), i+1)
			}
			if !found {
				id, found = find(prefix+automation.ParameterSegment, i+1)
			}
		}
		if found {
			return id, true
		}
		rest := strings.Join(parts[i:], "/")
		if _, err := url.PathUnescape(rest); err != nil || rest == "" {
			return id, false
		}
		return first(prefix + automation.RestSegment + "\x00")
	}
	return find(endpointKey(instance, ""), 0)
}

// indexBuilder changes a copy of an index.
type indexBuilder struct {
	programIndex

	library   *Library
	slugs     map[string]map[string]string // Workspace.CollectionSlugs
	truncated bool
}

// addInstances adds the app instances of a scope: of the workspace itself, or of an instance.
func (b *indexBuilder) addInstances(ctx context.Context, parent *instance, compiled *compiledContent) error {
	if parent != nil && parent.depth == maxNesting {
		return nil
	}
	for _, in := range compiled.installs.All() {
		if b.truncated {
			return nil
		}
		if err := b.addInstance(ctx, parent, in); err != nil {
			return err
		}
	}
	return nil
}

// addInstance adds an app instance with everything in it. An app that never existed has nothing.
func (b *indexBuilder) addInstance(ctx context.Context, parent *instance, in install) error {
	home, revision, err := b.library.contents.Edition(in.app, in.version)
	if err != nil {
		return err
	}
	b.useApp(in, contentKey{home, revision})
	n := &instance{name: in.slug, install: in, namespace: b.namespaceOf(parent, in), depth: 1}
	if parent != nil {
		n.name, n.parent, n.depth = parent.name+"."+in.slug, parent.name, parent.depth+1
	}
	if revision == 0 {
		b.instances = b.instances.Set(n.name, n)
		return nil
	}
	if b.installed == b.library.maxInstances {
		b.truncated = true
		return nil
	}
	if n.compiled, err = b.library.compileContent(ctx, home, revision); err != nil {
		return err
	}
	b.installed++
	n.limit = b.addPrograms(n.name, n.compiled)
	b.addFunctions(n)
	if n.mayHoldSecrets() {
		b.secrets = b.secrets.Set(n.name, struct{}{})
	}
	b.instances = b.instances.Set(n.name, n)
	return b.addInstances(ctx, n, n.compiled)
}

// removeInstance removes an app instance of the workspace itself with everything in it.
func (b *indexBuilder) removeInstance(slug string) {
	var all []*instance
	if n, ok := b.instances.Get(slug); ok {
		all = append(all, n)
	}
	for _, n := range b.instances.Prefix(namePrefix(slug)) {
		all = append(all, n)
	}
	for _, n := range all {
		b.instances, b.secrets = b.instances.Delete(n.name), b.secrets.Delete(n.name)
		b.releaseApp(n.install)
		if n.compiled == nil {
			continue
		}
		b.installed--
		b.programs -= len(n.functions)
		for slug, c := range n.compiled.automations.All() {
			b.removeProgram(programID{n.name, slug}, c)
		}
	}
}

// addPrograms adds the automations of a scope and returns the slug of the first that is left out,
// "" when none is.
func (b *indexBuilder) addPrograms(instance string, compiled *compiledContent) (limit string) {
	for slug, c := range compiled.automations.All() {
		if b.programs == b.library.maxPrograms {
			b.truncated = true
			return slug
		}
		b.addProgram(programID{instance, slug}, c)
	}
	return ""
}

// addFunctions makes an automation of each function in the config of an app instance, so that
// it can be called by its own name and not only with code.call. Automations of the app take
// precedence. A config that is a template cannot be read here.
func (b *indexBuilder) addFunctions(n *instance) {
	for _, functions := range []any{value.At(n.install.config, "functions"), value.Walk(n.compiled.index, "config", "value", "functions")} {
		declared, _ := functions.(*value.Object)
		for _, name := range declared.Keys() {
			function, ok := declared.At(name).(*value.Object)
			if !ok || n.compiled.automations.Has(name) || n.functions[name] != nil || !document.Automation.HasSlug(name) {
				continue
			}
			if b.programs == b.library.maxPrograms {
				b.truncated = true
				return
			}
			if c := b.library.newFunctionAutomation(name, function); c.Automation != nil {
				if n.functions == nil {
					n.functions = map[string]*compiledDocument{}
				}
				n.functions[name] = c
				b.programs++
			}
		}
	}
}

// namespaceOf returns the namespace of the collections of an instance. Only direct instances of a
// workspace can be renamed.
func (b *indexBuilder) namespaceOf(parent *instance, in install) Namespace {
	if parent != nil {
		return Namespace{in.app, in.slug}.within(parent.namespace)
	}
	if stored, ok := b.slugs[in.app][in.slug]; ok {
		return Namespace{in.app, stored}
	}
	return Namespace{in.app, in.slug}
}

// newIndex indexes the programs of a workspace with this content. limit is the first automation of
// the workspace itself that is left out.
func (l *Library) newIndex(ctx context.Context, w Workspace, compiled *compiledContent) (b *indexBuilder, limit string, err error) {
	b = &indexBuilder{library: l, slugs: w.CollectionSlugs}
	limit = b.addPrograms("", compiled)
	return b, limit, b.addInstances(ctx, nil, compiled)
}

// updateIndex changes the index of a program set to that of later content of its workspace. Apps
// are those that have another content by now. ok is false when the limits of the library are, or
// were, exceeded: what is left out depends on everything else.
func (l *Library) updateIndex(ctx context.Context, set *ProgramSet, w Workspace, compiled *compiledContent, changed map[string]content.Ref, apps []appUse) (b *indexBuilder, ok bool, err error) {
	b = &indexBuilder{programIndex: set.index, library: l, slugs: w.CollectionSlugs}
	before, instances := set.Root.compiled, map[string]bool{}
	for path := range changed {
		switch folder, slug := workspace.Folder(path); folder {
		case "automations":
			id := programID{"", slug}
			if c, ok := before.automations.Get(slug); ok {
				b.removeProgram(id, c)
			}
			if c, ok := compiled.automations.Get(slug); ok {
				b.addProgram(id, c)
			}
		case "imports":
			instances[slug] = true
		}
	}
	for _, app := range apps {
		for name, n := range b.instances.All() {
			if n.install.app == app.slug && n.install.version == app.version {
				slug, _, _ := strings.Cut(name, ".")
				instances[slug] = true
			}
		}
	}
	if !maps.EqualFunc(set.Workspace.CollectionSlugs, w.CollectionSlugs, maps.Equal) {
		for slug, in := range compiled.installs.All() {
			if n, ok := b.instances.Get(slug); ok && n.namespace != b.namespaceOf(nil, in) {
				instances[slug] = true
			}
		}
	}
	for slug := range instances {
		b.removeInstance(slug)
	}
	for _, slug := range slices.Sorted(maps.Keys(instances)) {
		in, ok := compiled.installs.Get(slug)
		if !ok {
			continue
		}
		if err := b.addInstance(ctx, nil, in); err != nil {
			return nil, false, err
		}
	}
	return b, !set.Truncated && !b.truncated && b.programs <= l.maxPrograms, nil
}
