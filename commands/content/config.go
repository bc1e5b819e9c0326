package content

import (
	"context"

	"svc/domain"
	"svc/domain/automation/input"
	"svc/domain/document"
	"svc/domain/workspace"
)

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
