package content

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"

	"svc/commands"
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/automation/input"
	"svc/domain/document"
	"svc/domain/workspace"
)

// installable checks an app instance against its app. It returns the instance before; nil when
// that was one of another app, whose secrets this app must not get.
func (c *Content) installable(ctx context.Context, workspaceID string, doc *document.Map, before *workspace.Item) (App, *workspace.Item, error) {
	slug := doc.Text("appSlug")
	if before != nil && before.App != slug {
		before = nil
	}
	installed := Installed{Slug: slug, Version: doc.Text("appVersion")}
	app, found, err := c.Apps.App(ctx, installed.Slug, installed.Version)
	if err != nil {
		return App{}, nil, err
	}
	if !found && before == nil {
		return App{}, nil, noApp(slug)
	}
	if !found {
		return App{}, before, nil // its app was deleted; the instance can still be changed
	}
	within, err := Contains(ctx, c.Apps, workspaceID, []Installed{installed})
	if err == nil && within {
		err = domain.Invalid(domain.FieldError{Field: "appSlug", Message: "an app cannot contain itself"})
	}
	return app, before, err
}

// checkCapacity refuses an app instance with which more would run than can. It replaces the instance
// from, which is before; nil: none. An instance with the same app as before is never refused.
func (c *Content) checkCapacity(ctx context.Context, workspaceID, from string, before, next *document.Map) error {
	app := activeApp(next)
	if c.CheckCapacity == nil || app == (Installed{}) || before != nil && activeApp(before) == app {
		return nil
	}
	return c.CheckCapacity(ctx, workspaceID, from, Instance{Slug: cmp.Or(next.Text("slug"), from), App: app})
}

// activeApp returns the app of an instance; none when the instance is disabled.
func activeApp(doc *document.Map) Installed {
	if off, _ := boolOf(doc, "disabled"); off {
		return Installed{}
	}
	return Installed{Slug: doc.Text("appSlug"), Version: doc.Text("appVersion")}
}

const noSuchApp = "the app does not exist, or it does not have this version: GET /v2/apps lists the apps"

func noApp(slug string) error {
	return domain.Refuse(domain.CodeNotFound, noSuchApp).With("resource", "app").With("id", slug)
}

// Contains reports whether a workspace is among apps and the apps that they install.
func Contains(ctx context.Context, apps Apps, workspaceID string, installs []Installed) (bool, error) {
	seen := map[Installed]bool{}
	for len(installs) > 0 {
		next := installs[0]
		installs = installs[1:]
		if seen[next] {
			continue
		}
		seen[next] = true
		app, found, err := apps.App(ctx, next.Slug, next.Version)
		if err != nil || found && app.WorkspaceID == workspaceID {
			return err == nil, err
		}
		if found {
			installs = append(slices.Clip(installs), app.Installs...)
		}
	}
	return false, nil
}

// reference matches a setting that is only a reference to a secret or a config value.
var reference = regexp.MustCompile(`^\{\{\s*(secret|config)\.[A-Za-z0-9_.-]+\s*\}\}$`)

// IsReference reports whether a setting is only a reference, and so no secret itself.
func IsReference(v any) bool {
	text, ok := v.(string)
	return ok && reference.MatchString(text)
}

// seal moves the secret settings of an instance out of its config: those that its app declares
// as secret, and those that were secret before. A mask keeps the stored value.
func (c *Content) seal(ctx context.Context, workspaceID string, doc *document.Map, app App, before *workspace.Item) (*document.Map, map[string][]byte, error) {
	if before == nil {
		before = &workspace.Item{}
	}
	secrets := slices.Concat(app.Secrets, slices.Sorted(maps.Keys(before.Sealed)))
	value, _ := doc.Get("config")
	config, ok := value.(*document.Map)
	if !ok || len(secrets) == 0 {
		return doc, nil, nil
	}
	doc, config = doc.Copy(), config.Copy()
	sealed := map[string][]byte{}
	for _, key := range secrets {
		v, given := config.Get(key)
		if !given || IsReference(v) {
			continue
		}
		config.Delete(key)
		previous := before.Sealed[key]
		if v != workspace.Mask {
			var err error
			if previous, err = c.sealSetting(ctx, workspaceID, key, v, previous); err != nil {
				return nil, nil, err
			}
		}
		if previous != nil {
			sealed[key] = previous
		}
	}
	if len(sealed) > maxSecrets {
		return nil, nil, domain.Invalid(domain.FieldError{Field: "config", Message: "an app instance has at most 16 secret settings"})
	}
	doc.Set("config", config)
	return doc, sealed, nil
}

// Limits of the secret settings of one instance.
const (
	maxSealed  = 4096 // bytes of one
	maxSecrets = 16
)

// sealSetting seals a setting. An unchanged value is not sealed again: sending it again is no
// change.
func (c *Content) sealSetting(ctx context.Context, workspaceID, key string, value any, before []byte) ([]byte, error) {
	plain, err := document.JSON(value)
	if err != nil {
		return nil, err
	}
	if len(plain) > maxSealed {
		return nil, domain.Invalid(domain.FieldError{Field: "config." + key, Message: "a secret setting has at most 4096 bytes"})
	}
	purpose := "appConfig/" + key
	if before != nil {
		if old, err := c.Vault.Open(ctx, workspaceID, before, purpose); err == nil && bytes.Equal(old, plain) {
			return before, nil
		}
	}
	return c.Vault.Seal(ctx, workspaceID, plain, purpose)
}

// instances is the folder of app instances.
const instances = "imports"

// CheckInstall returns the refusal of Create for a new app instance, and changes nothing.
func (c *Content) CheckInstall(ctx context.Context, workspaceID string, doc *document.Map) error {
	now, err := c.Workspaces.Get(ctx, workspaceID)
	if err != nil {
		return err
	}
	doc = doc.Copy()
	doc.Set("slug", chooseSlug(now.State, document.Import, doc))
	if err := c.checkCapacity(ctx, workspaceID, "", nil, doc); err != nil {
		return err
	}
	if err := c.checkConfig(ctx, nil, doc); err != nil {
		return err
	}
	return c.checkInstance(ctx, now.State, doc, workspace.Save{Create: true}, nil)
}

// checkInstance does all checks of saving an instance, without sealing and saving.
func (c *Content) checkInstance(ctx context.Context, s workspace.State, doc *document.Map, save workspace.Save, before *workspace.Item) error {
	if err := checkSlug(document.Import, doc.Text("slug")); err != nil {
		return err
	}
	faults, _ := c.Check(document.Import, doc)
	if err := refusal(acceptUnknown(document.Import, faults, nil, nil)); err != nil {
		return err
	}
	if _, _, err := c.installable(ctx, s.ID, doc, before); err != nil {
		return err
	}
	save.Entry.Path, save.Entry.Hash = instances+"/"+doc.Text("slug"), "not made"
	_, err := workspace.Decider.Decide(s, save)
	return err
}

// Amendment changes an app instance.
type Amendment struct {
	// Change returns the next version of the instance. It gets the current document, with a
	// mask for every sealed setting, and may keep the masks.
	Change  func(*document.Map) (*document.Map, error)
	IfMatch string // the ETag the caller saw, if any
	DryRun  bool   // refuse what would be refused, and change nothing
	// HiddenPaths returns the paths of the config that events must not contain, besides those of
	// before; nil: none.
	HiddenPaths func(config any) workspace.HiddenPaths
}

// Amend changes the app instance with this slug; with another slug it is renamed. Concurrent
// changes are not lost: Change is called again with their result.
func (c *Content) Amend(ctx context.Context, workspaceID, slug string, a Amendment) (Saved, error) {
	path := instances + "/" + slug
	for attempt := 1; ; attempt++ {
		now, err := c.Workspaces.Get(ctx, workspaceID)
		if err != nil {
			return Saved{}, err
		}
		item, exists := now.State.Items.Get(path)
		if !exists {
			return Saved{}, domain.Refuse(domain.CodeNotFound, "there is no such appInstance").With("resource", "appInstance").With("id", slug)
		}
		next, untold, err := c.changeInstance(ctx, now, workspaceID, path, a)
		if err != nil {
			return Saved{}, err
		}
		if next.Text("slug") == "" {
			next.Set("slug", slug)
		}
		if a.DryRun {
			return Saved{}, c.checkInstance(ctx, now.State, next, workspace.Save{Entry: workspace.Entry{From: path}}, &item)
		}
		done, err := c.saveAmended(ctx, workspaceID, path, next, untold, item, a.IfMatch)
		if !errors.Is(err, ErrMoved) || attempt == attempts*10 {
			return done, withWorkspace(err, workspaceID)
		}
	}
}

// changeInstance returns the changed instance, and the paths of its config that events must not
// contain.
func (c *Content) changeInstance(ctx context.Context, now commands.Workspace, workspaceID, path string, a Amendment) (*document.Map, workspace.HiddenPaths, error) {
	if err := c.Library.Reach(ctx, now.Seq); err != nil {
		return nil, nil, err
	}
	item := now.State.Items.At(path)
	before, err := c.Library.Document(ctx, workspaceID, Ref{Hash: item.Hash})
	if err != nil {
		return nil, nil, err
	}
	masked := Masked(before, item.Sealed, nil)
	next, err := a.Change(masked)
	if err == nil {
		err = c.checkConfig(ctx, masked, next)
	}
	if err != nil {
		return nil, nil, err
	}
	if version := next.Text("appVersion"); version != "" && version != before.Text("appVersion") {
		_, found, err := c.Apps.App(ctx, next.Text("appSlug"), version)
		if err != nil || !found {
			return nil, nil, cmp.Or(err, noApp(next.Text("appSlug")))
		}
	}
	_, slug := workspace.Folder(path)
	if err := c.checkCapacity(ctx, workspaceID, slug, before, next); err != nil {
		return nil, nil, err
	}
	next = restoreMasked(next, before, item.Sealed)
	was, _ := before.Get("config")
	config, _ := next.Get("config")
	var more workspace.HiddenPaths
	if a.HiddenPaths != nil {
		more = a.HiddenPaths(config)
	}
	return next, item.HiddenPaths.Remaining(was, config, more), nil
}

func (c *Content) saveAmended(ctx context.Context, workspaceID, path string, next *document.Map, untold workspace.HiddenPaths, before workspace.Item, ifMatch string) (Saved, error) {
	entry, next, err := c.prepare(ctx, workspaceID, document.Import, next, &before)
	if err != nil {
		return Saved{}, err
	}
	if entry.HiddenPaths = untold; entry.Path != path {
		entry.From = path
	}
	unmoved := func(s workspace.State) error {
		if s.Items.At(path).Revision != before.Revision {
			return ErrMoved
		}
		return nil
	}
	done, err := c.Workspaces.Write(ctx, workspaceID, workspace.Save{Entry: entry}, commands.Matches(ifMatch, commands.ItemRevision(path)), unmoved)
	return savedEntry(done, entry, next), err
}

// Masked returns an app instance with a mask for each sealed setting, and for those of secrets
// that were stored before they were declared secret.
func Masked(doc *document.Map, sealed map[string][]byte, secrets []string) *document.Map {
	value, _ := doc.Get("config")
	if _, passed := value.(string); passed { // a config of the workspace has its own
		return doc
	}
	config, _ := value.(*document.Map)
	masked := config.Copy()
	for _, key := range secrets {
		if v, ok := config.Get(key); ok && !IsReference(v) {
			masked.Set(key, workspace.Mask)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(sealed)) {
		masked.Set(key, workspace.Mask)
	}
	doc = doc.Copy()
	if config != nil || masked.Len() > 0 {
		doc.Set("config", masked)
	}
	return doc
}

// restoreMasked replaces masks by values that are stored in clear. For another app, masks of
// sealed settings are removed.
func restoreMasked(next, before *document.Map, sealed map[string][]byte) *document.Map {
	value, _ := before.Get("config")
	stored, _ := value.(*document.Map)
	value, _ = next.Get("config")
	config, ok := value.(*document.Map)
	if !ok {
		return next
	}
	config = config.Copy()
	for key := range sealed {
		if v, _ := config.Get(key); v == workspace.Mask && next.Text("appSlug") != before.Text("appSlug") {
			config.Delete(key)
		}
	}
	for key, v := range stored.All() {
		if sent, _ := config.Get(key); sent == workspace.Mask && sealed[key] == nil {
			config.Set(key, v)
		}
	}
	next = next.Copy()
	next.Set("config", config)
	return next
}

// ConfigFaults returns what is wrong with the config of an app instance by the schema of
// its app: values of a wrong type, and fields that it does not declare. Templates are
// checked when they are resolved.
func ConfigFaults(app App, doc *document.Map) []Fault {
	var faults []Fault
	for _, f := range configFaults(app, nil, doc) {
		faults = append(faults, Fault{Field: f.Field, Message: f.Message, Code: domain.CodeValidation})
	}
	return faults
}

// configFaults is ConfigFaults for a change of an instance, which was before: of the same
// version of an app only settings that changed are looked at, so that what an import or a
// new version of the app left behind keeps nobody from changing something else.
func configFaults(app App, before, doc *document.Map) []input.ConfigFault {
	given, _ := doc.Get("config")
	config, ok := given.(*document.Map)
	if !ok || app.Config == nil {
		return nil // a template of the whole is checked when it is resolved
	}
	given, _ = before.Get("config")
	was, _ := given.(*document.Map)
	sameApp := before != nil && before.Text("appSlug") == doc.Text("appSlug") && before.Text("appVersion") == doc.Text("appVersion")
	return app.Config.CheckWritten(config, func(key string) bool {
		now, _ := config.Get(key)
		old, had := was.Get(key)
		return now == workspace.Mask || sameApp && had && document.Equal(now, old)
	})
}

// checkConfig refuses the config of an app instance, which was before, when it does not fit
// the schema of its app. An app that is not there is not for this to refuse.
func (c *Content) checkConfig(ctx context.Context, before, doc *document.Map) error {
	app, found, err := c.Apps.App(ctx, doc.Text("appSlug"), doc.Text("appVersion"))
	if err != nil || !found {
		return err
	}
	var errs []domain.FieldError
	for _, f := range configFaults(app, before, doc) {
		errs = append(errs, f.FieldError)
	}
	if len(errs) > 0 {
		return domain.Invalid(errs...)
	}
	return nil
}

// SecretSettings returns the settings that the config of an index declares as
// secret.
func SecretSettings(index *document.Map) []string {
	config, _ := index.Get("config")
	m, _ := config.(*document.Map)
	schema, _ := m.Get("schema")
	typed, _ := schema.(*document.Map)
	var names []string
	for name, field := range typed.All() {
		if f, ok := field.(*document.Map); ok {
			if secret, _ := boolOf(f, "secret"); secret {
				names = append(names, name)
			}
		}
	}
	return names
}

// Offered returns the events of the automations of an app for those who install it: without
// private ones, and without those of the platform.
func Offered(automations []*document.Map) *document.Map {
	var all automation.Events
	for _, doc := range automations {
		if off, _ := boolOf(doc, "disabled"); off {
			continue
		}
		parsed, _ := automation.Parse(doc, automation.Rules{})
		if parsed == nil {
			continue
		}
		ev := parsed.Events()
		private := func(event string) bool { return slices.Contains(ev.Private, event) }
		all.Emit = append(all.Emit, slices.DeleteFunc(ev.Emit, private)...)
		all.Listen = append(all.Listen, slices.DeleteFunc(ev.Listen, automation.Native)...)
		all.Autocomplete = append(all.Autocomplete, slices.DeleteFunc(ev.Autocomplete, func(a automation.Autocomplete) bool { return private(a.Event) })...)
	}
	slices.Sort(all.Emit)
	slices.Sort(all.Listen)
	all.Emit, all.Listen = slices.Compact(all.Emit), slices.Compact(all.Listen)
	return eventsOf(all)
}

// Prefixed returns events with the names that they have outside of an instance.
func Prefixed(events *document.Map, prefix string) *document.Map {
	if events == nil {
		return nil
	}
	outside := document.MapOf()
	for key, v := range events.All() {
		values, _ := v.([]any)
		named := make([]any, len(values))
		for i, item := range values {
			named[i] = prefixed(item, prefix)
		}
		outside.Set(key, named)
	}
	return outside
}

// prefixed adds the prefix to the name of an event, or to a description of one.
func prefixed(v any, prefix string) any {
	switch v := v.(type) {
	case string:
		return prefix + v
	case *document.Map:
		v = v.Copy()
		v.Set("event", prefix+v.Text("event"))
		return v
	}
	return v
}
