package schedules

import (
	"context"
	"fmt"
	"strconv"

	"svc/commands/content"
	"svc/commands/programs"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/automation/value"
	"svc/domain/document"
	"svc/projections"
)

// faults tells of the schedules that cannot be registered, of the documents that have
// changed: imports bring them, nobody saves them otherwise. Those of apps are told where
// the apps are made.
func (v *revision) faults(ctx context.Context, house *programs.House) error {
	items, err := v.changed()
	if err != nil {
		return err
	}
	for _, item := range items {
		doc, err := v.Document(ctx, v.workspaceID, content.Ref{Hash: item.Hash, Apart: item.Apart})
		if err != nil {
			return err
		}
		if err := v.fault(ctx, item, doc, house.Program(item.Slug())); err != nil {
			return err
		}
	}
	return nil
}

// changed lists the automations whose documents changed since what is registered.
func (v *revision) changed() (items []projections.Item, err error) {
	err = v.Models.View(func(r projections.Reader) error {
		return projections.Content{}.List(r, v.workspaceID, "automations/", func(item projections.Item) (bool, error) {
			if item.Updated > v.old.At {
				items = append(items, item)
			}
			return true, nil
		})
	})
	return items, err
}

// fault tells what is wrong with the schedules of a document: of one that keeps all of
// them, nothing is.
func (v *revision) fault(ctx context.Context, item projections.Item, doc *document.Map, p *programs.Program) error {
	whole, _ := value.From(doc).(*value.Object)
	list, _ := value.Walk(whole, "when", "schedules").([]any)
	if len(list) == 0 || whole.At("disabled") == true || p != nil && len(p.When.Schedules) == len(list) {
		return nil
	}
	_, faults := automation.Parse(doc, v.Rules())
	for _, f := range faults {
		if f.Name != automation.InvalidSchedule || f.Warning {
			continue
		}
		told := activity.Failure{Error: f.Name, Message: f.Message, Details: map[string]any{"automation": item.Slug(), "field": f.Field}}
		for i, text := range list {
			if f.Field == fmt.Sprintf("when.schedules[%d]", i) {
				told.Details["schedule"] = text
			}
		}
		if err := v.once(ctx, item.Slug(), item.Updated, told, "fault", strconv.FormatUint(item.Updated, 10), f.Field); err != nil {
			return err
		}
	}
	return nil
}
