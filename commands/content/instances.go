package content

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"regexp"
	"slices"

	"svc/domain"
	"svc/domain/document"
	"svc/domain/workspace"
)

// installable checks an app instance against its app. It returns what there is
// to keep of the instance before: nothing, when that was one of another app,
// which must not get hold of secrets that were not meant for it.
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
		return App{}, before, nil // its app has vanished; the instance can still be changed
	}
	within, err := Contains(ctx, c.Apps, workspaceID, []Installed{installed})
	if err == nil && within {
		err = domain.Invalid(domain.FieldError{Field: "appSlug", Message: "an app cannot contain itself"})
	}
	return app, before, err
}

// roomFor refuses an app instance that brings more than can run, in the place of the one
// called from, which is before; nil: of none. One that changes nothing of that is let
// through, however much there is.
func (c *Content) roomFor(ctx context.Context, workspaceID, from string, before, next *document.Map) error {
	app := running(next)
	if c.Room == nil || app == (Installed{}) || before != nil && running(before) == app {
		return nil
	}
	return c.Room(ctx, workspaceID, from, Instance{Slug: cmp.Or(next.Text("slug"), from), App: app})
}

// running returns of which app an instance runs something; none when it is disabled.
func running(doc *document.Map) Installed {
	if off, _ := boolOf(doc, "disabled"); off {
		return Installed{}
	}
	return Installed{Slug: doc.Text("appSlug"), Version: doc.Text("appVersion")}
}

const noSuchApp = "the app does not exist, or it does not have this version: GET /v2/apps lists the apps"

func noApp(slug string) error {
	return domain.Refuse(domain.CodeNotFound, noSuchApp).With("resource", "app").With("id", slug)
}

// Contains reports whether a workspace is among apps and what they consist of.
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

// reference is a setting that only says where its value is.
var reference = regexp.MustCompile(`^\{\{\s*(secret|config)\.[A-Za-z0-9_.-]+\s*\}\}$`)

// IsReference reports whether a setting says nothing but where its value is: it
// is no secret itself.
func IsReference(v any) bool {
	text, ok := v.(string)
	return ok && reference.MatchString(text)
}

// seal takes the secret settings out of an instance: those that its app declares
// so, and those that were secret before. The mask keeps what was there.
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
		kept := before.Sealed[key]
		if v != workspace.Mask {
			var err error
			if kept, err = c.sealed(ctx, workspaceID, key, v, kept); err != nil {
				return nil, nil, err
			}
		}
		if kept != nil {
			sealed[key] = kept
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

// sealed returns a setting sealed. The value that is sealed already is not
// sealed anew: that it was sent again is no change.
func (c *Content) sealed(ctx context.Context, workspaceID, key string, value any, before []byte) ([]byte, error) {
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
