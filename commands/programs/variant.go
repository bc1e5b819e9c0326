package programs

import (
	"context"

	"svc/commands/content"
	"svc/domain/document"
	"svc/domain/value"
)

// Variant is what a program set has instead of what is saved: a draft to be tried, and the secrets of a test.
type Variant struct {
	Automations map[string]*document.Map // of the workspace itself, by slug; nil: it is not there
	// Config replaces settings of the workspace, by their names.
	Config *value.Object
	// Secrets replace those of all workspaces. A setting of an app instance that is stored encrypted is the
	// secret {instance}.{setting}, and absent without one. nil: the real ones are used.
	Secrets map[string]string
}

// Vary returns a variant of the program set. Which endpoints, events and times start automations stays as it is.
func (set *ProgramSet) Vary(ctx context.Context, v Variant) *ProgramSet {
	before := set.Root.compiled
	compiled := &compiledContent{
		workspaceID: before.workspaceID, revision: before.revision, index: before.index, secretKeys: before.secretKeys, configSchema: before.configSchema,
		automations: before.automations, installs: before.installs, paths: before.paths, size: before.size, varied: true,
	}
	for slug, doc := range v.Automations {
		compiled.automations = compiled.automations.Delete(slug)
		if doc == nil {
			continue
		}
		if c := set.library.parseDocument(ctx, documentKey{workspaceID: before.workspaceID}, doc, content.Ref{}); c.Automation != nil {
			compiled.automations = compiled.automations.Set(slug, c)
		}
	}
	if v.Config.Len() > 0 {
		config, _ := before.index.At("config").(*value.Object)
		settings, _ := value.At(config, "value").(*value.Object)
		config, settings = config.Copy(), settings.Copy()
		for key, setting := range v.Config.All() {
			settings.Set(key, setting)
		}
		config.Set("value", settings)
		compiled.index = before.index.Copy()
		compiled.index.Set("config", config)
	}
	b := indexBuilder{programIndex: set.index, library: set.library, truncated: set.Truncated}
	varied := b.programSet(set.Workspace, compiled, set.Root.limit)
	varied.stubbed = v.Secrets
	return varied
}
