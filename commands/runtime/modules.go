package runtime

import (
	"cmp"
	"context"

	"svc/commands/collections"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/automation/hash"
	"svc/domain/automation/machine"
	"svc/domain/automation/text"
	"svc/domain/automation/value"
)

// module calls a function of a module. What an error of it does is for the machine to
// say.
func (t *tree) module(r machine.Request) {
	name, function := value.Text(r.Params.At("module")), value.Text(r.Params.At("function"))
	params, _ := r.Params.At("parameters").(*value.Object)
	if params == nil {
		params = &value.Object{}
	}
	switch name {
	case "text":
		v, err := text.Call(function, params)
		t.now(r, machine.Answer{Value: v, Err: err})
	case "crypto":
		v, err := hash.Call(function, params, t.world.Random)
		t.now(r, machine.Answer{Value: v, Err: err})
	case "secrets":
		of := t.holder(r.Execution)
		t.later(r, func(ctx context.Context) (any, error) { return t.rt.Effects.References.Call(ctx, of, function, params) })
	case "collections":
		t.collections(r, function, params)
	case "code":
		t.code(r, function, params)
	default:
		t.now(r, machine.Answer{Value: value.Undefined, Err: automation.Invalid("there is no module %s", name)})
	}
}

// Collections keep rows. It is a *collections.Collections.
type Collections interface {
	Call(ctx context.Context, of collections.Caller, function string, params *value.Object) (any, error)
}

// collections reads or writes rows. That one was declared is recorded.
func (t *tree) collections(r machine.Request, function string, params *value.Object) {
	place := t.program(r.Execution).Place
	of := collections.Caller{WorkspaceID: t.workspaceID(), App: place.Namespace.App, Instance: place.Namespace.Instance, UserID: t.world.userID}
	t.laterThen(r, func(ctx context.Context) (any, error) {
		return t.rt.Effects.Rows.Call(ctx, of, function, params)
	}, func(a machine.Answer) machine.Answer {
		made, ok := a.Value.(*value.Object)
		if a.Err == nil && ok && function == "updateSchema" {
			t.journal.record(t.meta(r.Execution), t.bounded(activity.CollectionUpdated{
				Collection: t.redact.Text(value.Text(made.At("collection"))), OldCollection: t.redact.Text(value.Text(params.At("oldCollection"))),
				Schema: cmp.Or(t.redact.Text(value.Text(params.At("schema"))), "default"), AppSlug: place.App,
				Properties: t.body(made.At("properties")), Indexes: t.body(made.At("indexes")), Uniques: t.body(made.At("uniques")),
			}))
		}
		return a
	})
}
