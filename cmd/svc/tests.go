package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"svc/cmd/client"
	"svc/commands/archive"
	"svc/commands/suites"
	"svc/domain/document"
	"svc/domain/suite"
)

// tests is a run of the test suites of a directory.
type tests struct {
	linked
	local       bool
	pattern     string
	automation  string
	fromRuns    int
	againstRuns int
}

func testCommand(w environment) *cobra.Command {
	t := &tests{linked: linked{remote: remote{environment: w}}}
	c := &cobra.Command{
		Use: "test [DIR]", Short: "Run the test suites of a directory",
		Long: "Run the cases of tests/*.yml with the automations of the directory, as they are there: nothing is saved, and no case has an effect.\n" +
			"Exit status 1 when a case fails.\n\n" +
			"The cases run in the workspace of `svc dev`, else in that of the profile. Without either, or with --local, a service starts for them and\n" +
			"ends with them: apps that the workspace uses are not there then, unless they are built in.\n\n" +
			"--from-runs makes cases of the last recorded runs of an automation and writes them to tests/. Secrets are not in them.\n" +
			"--against-runs runs each automation that the directory changes with the input and the answers of its last recorded runs, and prints what\n" +
			"it does otherwise than the saved one.",
		Args: optionalDirectory,
		RunE: func(c *cobra.Command, args []string) error {
			return t.explain(c.Context(), t.run(c.Context(), directoryOf(args)))
		},
	}
	t.flags(c)
	c.Flags().StringVar(&t.into, "workspace", "", "the workspace, by its id or slug (default: that of svc dev, else the slug in index.yml)")
	c.Flags().BoolVar(&t.local, "local", false, "run in a service that starts for this, whatever the profile says")
	c.Flags().StringVar(&t.pattern, "run", "", "only cases whose suite or name contains this text")
	c.Flags().StringVar(&t.automation, "automation", "", "only suites of this automation, by its slug")
	c.Flags().IntVar(&t.fromRuns, "from-runs", 0, "make cases of so many recorded runs of --automation, and write them to tests/")
	c.Flags().IntVar(&t.againstRuns, "against-runs", 0, "compare changed automations with so many recorded runs of each")
	return c
}

func (t *tests) run(ctx context.Context, dir string) (err error) {
	switch {
	case t.fromRuns != 0 && t.againstRuns != 0:
		return fmt.Errorf("%w: --from-runs and --against-runs exclude each other", errUsage)
	case t.fromRuns != 0 && t.automation == "":
		return fmt.Errorf("%w: --from-runs needs --automation", errUsage)
	case t.local && t.fromRuns+t.againstRuns != 0:
		return fmt.Errorf("%w: a service that starts for this has no recorded runs: leave --local out", errUsage)
	}
	if _, err := os.Stat(dir); err != nil {
		return err
	}
	d, err := openLinked(dir)
	if err != nil {
		return err
	}
	reading, err := readContent(d)
	if err != nil {
		return err
	}
	started, stop, err := t.connectOrStart(ctx, d)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	switch {
	case t.fromRuns != 0:
		return t.makeCases(ctx, d, reading)
	case t.againstRuns != 0:
		return t.checkRuns(ctx, reading)
	}
	request := map[string]any{"cases": t.pattern}
	if t.automation != "" {
		request["automations"] = []string{t.automation}
	}
	if !started {
		if request["documents"], err = t.drafts(ctx, reading); err != nil {
			return err
		}
	}
	return t.runSuites(ctx, request)
}

// readContent reads the documents of a directory. A file that is wrong ends it: tests would miss it.
func readContent(d *linkedDirectory) (*archive.Reading, error) {
	tree, err := d.read()
	if err != nil {
		return nil, err
	}
	reading, err := archive.Read(tree, archive.Options{Limits: archive.Usual})
	if err != nil {
		return nil, err
	}
	if len(reading.Errors) > 0 {
		return nil, fmt.Errorf("%s wrong\n%s", count(len(reading.Errors), "file"), strings.TrimSuffix(items("error", reading.Errors), "\n"))
	}
	return reading, nil
}

// connectOrStart finds the workspace of the directory, or starts a service that has it.
func (t *tests) connectOrStart(ctx context.Context, d *linkedDirectory) (started bool, stop func() error, err error) {
	stop = func() error { return nil }
	if !t.local {
		err = t.connectLinked(ctx, d)
		if err == nil {
			err = t.Get(ctx, t.path(""), new(struct{}))
		}
		_, silent := errors.AsType[*client.Unreachable](err)
		named := t.profile+t.env(profileVariable)+t.env(urlVariable)+t.env(tokenVariable)+t.into != ""
		if err == nil || named || t.fromRuns+t.againstRuns != 0 || t.Client != nil && !silent {
			return false, stop, err
		}
	}
	own, err := os.MkdirTemp("", "svc-test-")
	if err != nil {
		return true, stop, err
	}
	remove := func() error { return os.RemoveAll(own) }
	temporary := &linkedDirectory{path: own}
	if err := temporary.prepare(); err != nil {
		return true, remove, errors.Join(err, remove())
	}
	service, err := startEmbeddedService(ctx, temporary)
	if err != nil {
		return true, stop, errors.Join(err, remove())
	}
	stop = func() error { return errors.Join(service.stop(), remove()) }
	t.Client = service.Client
	if err := t.importDirectory(ctx, d.path); err != nil {
		return true, stop, errors.Join(err, stop())
	}
	return true, stop, nil
}

// importDirectory makes a workspace of the directory in a service that has none.
func (t *tests) importDirectory(ctx context.Context, dir string) error {
	packed, err := zipDirectory(dir)
	if err != nil {
		return err
	}
	var result struct {
		Workspace struct{ ID string }
	}
	if _, err := t.Call(ctx, http.MethodPost, "/workspaces/import", client.Content{Type: "application/zip", Data: packed}, &result); err != nil {
		return err
	}
	t.workspace, t.named = result.Workspace.ID, result.Workspace.ID
	return nil
}

// drafts are the documents of the directory, and null for those that only the workspace has.
func (t *tests) drafts(ctx context.Context, reading *archive.Reading) (map[string]any, error) {
	drafts := map[string]any{}
	var there struct {
		Automations, Tests map[string]json.RawMessage
	}
	if err := t.Get(ctx, t.path(""), &there); err != nil {
		return nil, err
	}
	for folder, slugs := range map[string]map[string]json.RawMessage{"automations": there.Automations, "tests": there.Tests} {
		for slug := range slugs {
			drafts[folder+"/"+slug] = nil
		}
	}
	for folder, docs := range map[string]map[string]*document.Map{"automations": reading.Content.Automations, "tests": reading.Content.Tests} {
		for slug, doc := range docs {
			drafts[folder+"/"+slug] = doc
		}
	}
	return drafts, nil
}

// runSuites runs cases and prints what became of them.
func (t *tests) runSuites(ctx context.Context, request map[string]any) error {
	var report suites.Report
	got, err := t.Call(ctx, http.MethodPost, t.path("/tests/run"), request, &report)
	if err != nil {
		return err
	}
	if report.Passed+report.Failed == 0 && !t.asJSON {
		return errors.New("there are no cases to run: tests/*.yml has them, see docs/testing.md")
	}
	if err := t.printResult(got.Body, func() string { return reportText(report) }); err != nil {
		return err
	}
	if report.Failed > 0 {
		return fmt.Errorf("%s failed", count(report.Failed, "case"))
	}
	return nil
}

func reportText(report suites.Report) string {
	var b strings.Builder
	for _, s := range report.Suites {
		if len(s.Cases) == 0 {
			continue
		}
		b.WriteString(clean(s.Slug) + "\n")
		for _, c := range s.Cases {
			word := "ok  "
			if c.Status == suites.Failed {
				word = "FAIL"
			}
			fmt.Fprintf(&b, "  %s  %s (%d ms)\n", word, clean(c.Name), c.Duration)
			b.WriteString(differencesText("        ", c.Differences))
			if c.Actual != nil {
				for _, line := range c.Actual.Logs {
					b.WriteString("        log: " + clean(line) + "\n")
				}
			}
		}
	}
	fmt.Fprintf(&b, "%d passed, %d failed (%d ms)\n", report.Passed, report.Failed, report.Duration)
	return b.String()
}

func differencesText(indent string, all []suite.Difference) string {
	var b strings.Builder
	for _, d := range all {
		b.WriteString(indent + clean(d.Path+": "+d.Message) + "\n")
		if d.Expected != nil {
			b.WriteString(indent + "  expected  " + clean(string(d.Expected)) + "\n")
		}
		if d.Got != nil {
			b.WriteString(indent + "  got       " + clean(string(d.Got)) + "\n")
		}
	}
	return b.String()
}

// makeCases writes cases of recorded runs to the directory, behind those that are there.
func (t *tests) makeCases(ctx context.Context, d *linkedDirectory, reading *archive.Reading) error {
	var made struct {
		Test    *document.Map
		Cases   int
		Skipped []struct{ CorrelationID, Reason string }
	}
	got, err := t.Call(ctx, http.MethodPost, t.path("/tests/fromRuns"), map[string]any{"automation": t.automation, "runs": t.fromRuns}, &made)
	if err != nil {
		return err
	}
	slug := made.Test.Text("slug")
	path := "tests/" + slug + ".yml"
	if known := reading.Sources[archive.Location{Kind: document.Test, Slug: slug}]; known != "" {
		path = known
	}
	if made.Cases > 0 {
		if err := writeCases(d.file(path), reading.Content.Tests[slug], made.Test); err != nil {
			return err
		}
	}
	return t.printResult(got.Body, func() string {
		var b strings.Builder
		for _, s := range made.Skipped {
			b.WriteString("left out: run " + clean(s.CorrelationID+": "+s.Reason) + "\n")
		}
		if made.Cases == 0 {
			return b.String() + "no case was made: RUN_RECORDING says which runs are recorded, and the test route records with record=true\n"
		}
		return b.String() + fmt.Sprintf("%s written to %s; secrets in them are REDACTED, read them before you commit them\n", count(made.Cases, "case"), path)
	})
}

// writeCases writes a suite to a file, its cases behind those that the file has.
func writeCases(path string, before, made *document.Map) error {
	if before != nil {
		had, _ := before.At("cases").([]any)
		more, _ := made.At("cases").([]any)
		for _, c := range more {
			if !slices.ContainsFunc(had, func(other any) bool { return suite.SameCase(other, c) }) {
				had = append(slices.Clip(had), c)
			}
		}
		made = before.Copy()
		made.Set("cases", had)
	}
	text, err := document.Test.Text(made)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// checkedRuns is what POST …/tests/check answers.
type checkedRuns struct {
	Automation string             `json:"automation"`
	Same       int                `json:"same"`
	Different  int                `json:"different"`
	Skipped    int                `json:"skipped"`
	Runs       []suites.RunReport `json:"runs"`
}

// checkRuns compares the automations that the directory changes with recorded runs.
func (t *tests) checkRuns(ctx context.Context, reading *archive.Reading) error {
	there, _, err := t.fetchContent(ctx, link{})
	if err != nil {
		return err
	}
	changed := []checkedRuns{}
	different := 0
	for _, file := range compareTrees(reading.Files, there) {
		place, _ := archive.Locate(file.Path)
		if place.Kind != document.Automation || file.Status != "changed" || t.automation != "" && t.automation != place.Slug {
			continue
		}
		var checked checkedRuns
		request := map[string]any{"automation": place.Slug, "document": reading.Content.Automations[place.Slug], "runs": t.againstRuns}
		if _, err := t.Call(ctx, http.MethodPost, t.path("/tests/check"), request, &checked); err != nil {
			return err
		}
		changed, different = append(changed, checked), different+checked.Different
	}
	if t.asJSON {
		err = writeJSON(t.environment, map[string]any{"automations": changed})
	} else {
		_, err = fmt.Fprint(t.out, checksText(changed))
	}
	if err == nil && different > 0 {
		err = fmt.Errorf("%s different", count(different, "run"))
	}
	return err
}

func checksText(all []checkedRuns) string {
	if len(all) == 0 {
		return "no automation is changed\n"
	}
	var b strings.Builder
	for _, c := range all {
		b.WriteString(clean(c.Automation) + "\n")
		for _, run := range c.Runs {
			switch run.Status {
			case suites.Different:
				b.WriteString("  DIFF  run " + clean(run.CorrelationID+" of "+run.StartedAt) + "\n" + differencesText("        ", run.Differences))
			case suites.Skipped:
				b.WriteString("  skip  run " + clean(run.CorrelationID+": "+run.Reason) + "\n")
			}
		}
		fmt.Fprintf(&b, "  %d same, %d different, %d skipped\n", c.Same, c.Different, c.Skipped)
		if len(c.Runs) == 0 {
			b.WriteString("  no recorded runs: RUN_RECORDING says which are\n")
		}
	}
	return b.String()
}
