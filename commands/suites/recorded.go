package suites

import (
	"context"
	"encoding/json"
	"fmt"

	"svc/commands/programs"
	"svc/commands/recording"
	"svc/domain/automation"
	"svc/domain/automation/redact"
	"svc/domain/suite"
	"svc/domain/value"
)

// Recordings finds the recordings of a run. It is a *recording.Store.
type Recordings interface {
	Each(ctx context.Context, workspaceID, correlationID, executionID string, visit func(*recording.Record) error) (int, error)
}

// Secrets are those of workspaces.
type Secrets interface {
	Open(ctx context.Context, workspaceID string) (map[string]string, *redact.Set, error)
	Redactor(ctx context.Context, workspaceID string) (*redact.Set, error)
}

// Recorded makes cases of recorded runs, and compares a draft with them. All fields are required.
type Recorded struct {
	Runner     *Runner
	Recordings Recordings
	Secrets    Secrets
}

// The results of comparing a draft with a recorded run.
const (
	Same      = "same"
	Different = "different"
	Skipped   = "skipped" // it cannot be compared
)

// RunReport says how a draft behaves in a recorded run.
type RunReport struct {
	CorrelationID string             `json:"correlationId"`
	StartedAt     string             `json:"startedAt"`
	Status        string             `json:"status"` // Same, Different or Skipped
	Reason        string             `json:"reason,omitempty"`
	Differences   []suite.Difference `json:"differences"`
}

// Check runs what is saved and a draft of it with the input of a recorded run and the answers that it got, and compares what
// they do. An error of the platform ends it.
func (r *Recorded) Check(ctx context.Context, set *programs.ProgramSet, slug, correlationID string, draft Draft) (RunReport, error) {
	report := RunReport{CorrelationID: correlationID, Status: Skipped, Reason: "its recording has expired", Differences: []suite.Difference{}}
	secrets, known, err := r.Secrets.Open(ctx, set.Workspace.ID)
	if err != nil {
		return report, err
	}
	err = r.eachOf(ctx, set, slug, correlationID, func(rec *recording.Record) error {
		doc, err := rec.TestCase()
		if err != nil {
			report.Reason = err.Error()
			return nil
		}
		c := readOne(slug, doc)
		c.Stubs.Secrets = secrets // nothing leaves, and what is shown is redacted
		before, err := r.Runner.Simulate(ctx, set, slug, c, nil)
		if err != nil {
			return err
		}
		after, err := r.Runner.Simulate(ctx, set, slug, c, draft)
		if err != nil {
			return err
		}
		before.Unstubbed, after.Unstubbed = nil, nil // they are among the requests
		report.Status, report.Reason, report.Differences = Same, "", redacted(suite.Compare(expectationOf(before), after), rec.Secrets(known))
		if len(report.Differences) > 0 {
			report.Status = Different
		}
		return nil
	})
	return report, err
}

// eachOf calls visit with the recording of the first tree of a run that an automation began.
func (r *Recorded) eachOf(ctx context.Context, set *programs.ProgramSet, slug, correlationID string, visit func(*recording.Record) error) error {
	done := false
	_, err := r.Recordings.Each(ctx, set.Workspace.ID, correlationID, "", func(rec *recording.Record) error {
		if done || rec.Slug != slug {
			return nil
		}
		done = true
		return visit(rec)
	})
	return err
}

func readOne(slug string, c *value.Object) *suite.Case {
	return &suite.Read("", value.NewObject("automation", slug, "cases", []any{c})).Cases[0]
}

// redacted returns differences without secrets.
func redacted(all []suite.Difference, secrets *redact.Set) []suite.Difference {
	clean := func(text json.RawMessage) json.RawMessage {
		if text == nil {
			return nil
		}
		v, err := value.ParseJSON(string(text))
		if err != nil {
			return nil
		}
		return json.RawMessage(value.JSON(secrets.Value(v), ""))
	}
	list := make([]suite.Difference, len(all))
	for i, d := range all {
		list[i] = suite.Difference{Path: secrets.Text(d.Path), Message: secrets.Text(d.Message), Expected: clean(d.Expected), Got: clean(d.Got)}
	}
	return list
}

// expectationOf expects exactly what was done.
func expectationOf(o suite.Outcome) suite.Expectation {
	return suite.ReadExpectation(expectationDocument(o))
}

// expectationDocument is what a case expects, as its document says it.
func expectationDocument(o suite.Outcome) *value.Object {
	expect := value.NewObject("status", float64(o.Status))
	if o.Err != nil {
		expect.Set("error", value.NewObject("error", o.Err.Name, "message", o.Err.Message))
	} else if !value.IsUndefined(o.Output) {
		expect.Set("output", asJSON(o.Output))
	}
	events := []any{}
	for _, e := range o.Events {
		events = append(events, value.NewObject("type", e.Type, "payload", e.Payload))
	}
	fetches := []any{}
	for _, f := range o.Fetches {
		fetch := value.NewObject("method", f.Method, "url", f.URL)
		if !value.IsUndefined(f.Body) {
			fetch.Set("body", f.Body)
		}
		fetches = append(fetches, fetch)
	}
	expect.Set("events", events)
	expect.Set("fetches", fetches)
	if len(o.Chunks) > 0 {
		expect.Set("chunks", o.Chunks)
	}
	return expect
}

// asJSON returns a value as JSON has it.
func asJSON(v any) any {
	parsed, err := value.ParseJSON(value.JSON(v, ""))
	if err != nil {
		return value.Undefined
	}
	return parsed
}

// maxCaseBytes is how large a case that is made of a run may be, in bytes of JSON.
const maxCaseBytes = 100_000

// maxSecrets is how many secrets a case that is made of a run may need.
const maxSecrets = 20

// Case makes a case of a recorded run. It has no secrets: their values are REDACTED, and those of credentials. It expects
// what the saved automation does with that. Reason says why there is no case, "" when there is one.
func (r *Recorded) Case(ctx context.Context, set *programs.ProgramSet, slug, correlationID string) (c *value.Object, reason string, err error) {
	known, err := r.Secrets.Redactor(ctx, set.Workspace.ID)
	if err != nil {
		return nil, "", err
	}
	reason = "its recording has expired"
	err = r.eachOf(ctx, set, slug, correlationID, func(rec *recording.Record) error {
		doc, err := rec.TestCase()
		if err != nil {
			reason = err.Error()
			return nil
		}
		doc, _ = asJSON(rec.Secrets(known).Value(doc)).(*value.Object)
		if !value.FitsWithin(doc, maxCaseBytes) {
			reason = fmt.Sprintf("it is larger than %d bytes", maxCaseBytes)
			return nil
		}
		outcome, err := r.withSecrets(ctx, set, slug, doc)
		if err != nil {
			return err
		}
		switch failed := outcome.Err != nil; {
		case len(outcome.Unstubbed) > 0:
			reason = fmt.Sprintf("it makes a request now that was not recorded: %s %s", outcome.Unstubbed[0].Method, outcome.Unstubbed[0].URL)
		case failed != rec.HasFailed():
			reason = "it ends otherwise than it did, with the automation as it is and without secrets" + errorText(outcome.Err)
		default:
			doc.Set("expect", expectationDocument(outcome))
			c, reason = doc, ""
		}
		return nil
	})
	return c, reason, err
}

func errorText(err *automation.Error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Name + ": " + err.Message
}

// withSecrets runs a case, and adds stubs for the secrets that it needs.
func (r *Recorded) withSecrets(ctx context.Context, set *programs.ProgramSet, slug string, doc *value.Object) (suite.Outcome, error) {
	stubs, _ := doc.At("stubs").(*value.Object)
	for tries := 0; ; tries++ {
		outcome, err := r.Runner.Simulate(ctx, set, slug, readOne(slug, doc), nil)
		if err != nil || len(outcome.SecretNames) == 0 || tries == maxSecrets {
			return outcome, err
		}
		given, _ := stubs.At("secrets").(*value.Object)
		given = given.Copy()
		for _, name := range outcome.SecretNames {
			given.Set(name, "REDACTED")
		}
		stubs.Set("secrets", given)
	}
}
