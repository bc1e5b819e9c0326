package programs

import (
	"context"

	"svc/commands"
	"svc/commands/content"
	"svc/domain/automation"
	"svc/domain/automation/redact"
	"svc/domain/automation/variable"
	"svc/domain/document"
	"svc/domain/value"
	"svc/domain/workspace"
)

// Configs changes the stored config of workspaces and app instances, for their automations.
// All fields are required.
type Configs struct {
	Workspaces commands.Workspaces
	Content    *content.Content
	MaxSize    func() int // of a config
}

// errNested says that the config of an instance belongs to the app that has the instance.
var errNested = automation.Invalid("the config of an instance within an app cannot be written")

// errTemplateConfig says that an instance has no config of its own: its config is a template
// of the config of whoever has the instance, and a write would replace the template.
var errTemplateConfig = automation.Invalid("the config of this instance is a template and cannot be written by automations")

// Change applies an operation to the stored config of a scope. Events do not show what the
// config has of secrets.
func (c Configs) Change(ctx context.Context, scope *Scope, op variable.Op, secrets *redact.Set) error {
	id := scope.ProgramSet.Workspace.ID
	hidden := func(config any) workspace.HiddenPaths { return secrets.Paths(value.From(config)) }
	if scope.Parent == nil {
		return c.Workspaces.Configure(ctx, id, "", func(config *document.Map) (*document.Map, workspace.HiddenPaths, error) {
			next, err := c.changed(config.Object("value"), op)
			if err != nil {
				return nil, nil, err
			}
			changed := config.Copy()
			changed.Set("value", next)
			return changed, hidden(next), nil
		})
	}
	if scope.Parent.Parent != nil {
		return errNested
	}
	_, err := c.Content.Amend(ctx, id, scope.Slug, content.Amendment{HiddenPaths: hidden, Change: func(doc *document.Map) (*document.Map, error) {
		if given, _ := doc.Get("config"); isText(given) {
			return nil, errTemplateConfig
		}
		config, err := c.changed(doc.Object("config"), op)
		if err != nil {
			return nil, err
		}
		changed := doc.Copy()
		changed.Set("config", config)
		return changed, nil
	}})
	return err
}

func isText(v any) bool {
	_, ok := v.(string)
	return ok
}

// replacesTemplate reports whether an operation writes below a template, or merges with it.
func replacesTemplate(config any, op variable.Op) bool {
	for i, step := range op.Path {
		config = value.At(config, step.Key)
		if isText(config) && ContainsReference(config) {
			return i < len(op.Path)-1 || op.Kind == variable.Merge
		}
	}
	return false
}

// changed returns a config after an operation, unless it is too large.
func (c Configs) changed(config *document.Map, op variable.Op) (*document.Map, error) {
	current := value.From(config)
	if replacesTemplate(current, op) {
		return nil, automation.Invalid("what stands there in the config is a template, and only the whole of it can be replaced")
	}
	next, added, err := variable.Change(current, op)
	if err != nil {
		return nil, err
	}
	if size, limit := variable.Size(next), c.MaxSize(); added > 0 && size > limit {
		return nil, automation.Raise(automation.ContextTooLarge, "the config is larger than it may be",
			"context", "config", "size", float64(size), "limit", float64(limit))
	}
	o, ok := next.(*value.Object)
	if !ok {
		return document.MapOf(), nil
	}
	changed := document.MapOf()
	return changed, changed.UnmarshalJSON([]byte(value.JSON(o, "")))
}
