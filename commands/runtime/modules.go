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

// callModule calls a function of a module. What an error of it does is for the machine to
// say.
func (t *run) callModule(r machine.Request) {
	name, function := value.Text(r.Params.At("module")), value.Text(r.Params.At("function"))
	params, _ := r.Params.At("parameters").(*value.Object)
	if params == nil {
		params = &value.Object{}
	}
	switch name {
	case "text":
		v, err := text.Call(function, params)
		t.answerNow(r, machine.Answer{Value: v, Err: err})
	case "crypto":
		v, err := hash.Call(function, params, t.world.Random)
		t.answerNow(r, machine.Answer{Value: v, Err: err})
	case "secrets":
		of := t.referenceHolder(r.Execution)
		t.answerLater(r, func(ctx context.Context) (any, error) { return t.rt.Effects.References.Call(ctx, of, function, params) })
	case "collections":
		t.callCollections(r, function, params)
	case "code":
		t.runCode(r, function, params)
	default:
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: automation.Invalid("there is no module %s", name)})
	}
}

// Collections keep rows. It is a *collections.Collections.
type Collections interface {
	Call(ctx context.Context, of collections.Caller, function string, params *value.Object) (any, error)
}

// callCollections reads or writes rows. That one was declared is recorded.
func (t *run) callCollections(r machine.Request, function string, params *value.Object) {
	scope := t.program(r.Execution).Scope
	of := collections.Caller{WorkspaceID: t.workspaceID(), App: scope.Namespace.App, Instance: scope.Namespace.Instance, UserID: t.world.userID}
	t.answerLaterThen(r, func(ctx context.Context) (any, error) {
		return t.rt.Effects.Rows.Call(ctx, of, function, params)
	}, func(a machine.Answer) machine.Answer {
		made, ok := a.Value.(*value.Object)
		if a.Err == nil && ok && function == "updateSchema" {
			t.journal.record(t.meta(r.Execution), t.limitEvent(activity.CollectionUpdated{
				Collection: t.redact.Text(value.Text(made.At("collection"))), OldCollection: t.redact.Text(value.Text(params.At("oldCollection"))),
				Schema: cmp.Or(t.redact.Text(value.Text(params.At("schema"))), "default"), AppSlug: scope.App,
				Properties: t.redactJSON(made.At("properties")), Indexes: t.redactJSON(made.At("indexes")), Uniques: t.redactJSON(made.At("uniques")),
			}))
		}
		return a
	})
}
