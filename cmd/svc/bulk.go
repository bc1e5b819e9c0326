package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"svc/commands/archive"
	"svc/domain/operation"
)

func bulkCommand(w environment) *cobra.Command {
	c := &cobra.Command{
		Use: "bulk", Short: "Push or import all workspaces of a group",
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(bulkPushCommand(w), bulkImportCommand(w))
	return c
}

// bulk is what both runs are asked with.
type bulk struct {
	remote
	groups     []string
	repository string
	dry        bool
}

func newBulk(w environment) *bulk {
	return &bulk{remote: remote{environment: w, workspace: "platform", named: "platform"}}
}

func (b *bulk) options(c *cobra.Command) {
	c.Flags().StringSliceVar(&b.groups, "group", nil, "group of workspaces; may be repeated, or a comma list")
	c.Flags().StringVar(&b.repository, "repository", "", "id of the platform repository (default: the first that allows it)")
	c.Flags().BoolVar(&b.dry, "dry-run", false, "only tell what would be done")
}

func bulkPushCommand(w environment) *cobra.Command {
	b := newBulk(w)
	var name, description string
	var force bool
	c := b.command(&cobra.Command{
		Use: "push --group GROUP", Short: "Push every workspace of the groups to a platform repository",
		Long: "Push every workspace of the groups that has changed to a platform repository, under one version name. One that fails\nstops none of the others. Exit status 1 when one failed, or the run was refused.",
		Args: func(c *cobra.Command, args []string) error {
			if len(b.groups) == 0 {
				return fmt.Errorf("%w: svc bulk push needs --group", errUsage)
			}
			return noArguments(c, args)
		},
	}, func(ctx context.Context, _ []string) error {
		return b.run(ctx, "/workspaces/platform/versions", nonEmpty("name", name, "description", description), "force", force)
	})
	b.options(c)
	c.Flags().StringVar(&name, "name", "", "name of the version (default: one is made of the time)")
	c.Flags().StringVar(&description, "description", "", "what is new; in Git, the message of the commits")
	c.Flags().BoolVar(&force, "force", false, "push those too that have not changed")
	return c
}

func bulkImportCommand(w environment) *cobra.Command {
	b := newBulk(w)
	var again bool
	c := b.command(&cobra.Command{
		Use: "import", Short: "Import the workspaces of a platform repository",
		Long: "Import the workspaces of a platform repository, those of the groups or all, each after those that it depends on.\nWhat was changed here is overwritten. One that fails stops none of the others. Exit status 1 when one failed, or the run was refused.",
		Args: func(c *cobra.Command, args []string) error {
			if len(b.groups) == 0 && b.repository == "" {
				return fmt.Errorf("%w: svc bulk import needs --group or --repository", errUsage)
			}
			return noArguments(c, args)
		},
	}, func(ctx context.Context, _ []string) error {
		return b.run(ctx, "/workspaces/platform/versions/latest/pull", nonEmpty(), "forceReimport", again)
	})
	b.options(c)
	c.Flags().BoolVar(&again, "force-reimport", false, "import those too whose version is here already, and files with wrong checksums")
	return c
}

// run starts the run and shows it.
func (b *bulk) run(ctx context.Context, path string, body map[string]any, flag string, on bool) error {
	if err := b.checkRepository(ctx); err != nil {
		return err
	}
	for name, value := range map[string]bool{flag: on, "dryRun": b.dry} {
		if value {
			body[name] = true
		}
	}
	if len(b.groups) > 0 {
		body["groups"] = b.groups
	}
	if b.repository != "" {
		body["repository"] = map[string]string{"id": b.repository}
	}
	query := "?sse=true"
	if b.dry {
		query = "" // it is no run
	}
	op, err := b.start(ctx, path+query, body)
	if err != nil {
		return err
	}
	return b.printBulkResult(op.Result)
}

// checkRepository refuses a repository that is none of the platform's: with the name of
// another, or of none, the service would push or pull the workspace platform itself.
func (b *bulk) checkRepository(ctx context.Context) error {
	if b.repository == "" {
		return nil
	}
	var platform struct {
		PlatformRepositories map[string]struct{} `json:"platformRepositories"`
	}
	if err := b.Get(ctx, b.path(""), &platform); err != nil {
		return err
	}
	if _, ok := platform.PlatformRepositories[b.repository]; ok {
		return nil
	}
	names := slices.Sorted(maps.Keys(platform.PlatformRepositories))
	if len(names) == 0 {
		return fmt.Errorf("there is no platform repository %s, nor any other: the operator sets them", clean(b.repository))
	}
	return fmt.Errorf("there is no platform repository %s; there are: %s", clean(b.repository), strings.Join(names, ", "))
}

// bulkRun is a run as its start, its end and its plan tell it: those of a push, and
// those of an import.
type bulkRun struct {
	OperationID  string          `json:"operationId"`
	RepositoryID string          `json:"repositoryId"`
	Name         string          `json:"name"` // of the version; "" for an import
	DryRun       bool            `json:"dryRun"`
	Cancelled    bool            `json:"cancelled"`
	Duration     int64           `json:"duration"`
	Errors       int             `json:"errorsCount"`
	Warnings     []note          `json:"warnings"`
	Workspaces   []bulkWorkspace `json:"workspaces"`

	bulkCounts
}

// bulkCounts are what a run did. Those of the other kind are 0.
type bulkCounts struct {
	Pushed         int `json:"pushed"`
	AlreadyPushed  int `json:"alreadyPushed"`
	InProgress     int `json:"inProgress"`
	MergeConflicts int `json:"mergeConflicts"`

	Created  int `json:"created"`
	Updated  int `json:"updated"`
	Skipped  int `json:"skipped"`
	Imported int `json:"importedFilesCount"`
	Deleted  int `json:"deletedFilesCount"`
}

type bulkWorkspace struct {
	Slug     string `json:"slug"`
	Status   string `json:"status"`
	Would    string `json:"wouldImport"`      // of a plan
	Lost     bool   `json:"localChangesLost"` // of a plan
	Reason   string `json:"reason"`
	Duration int64  `json:"duration"`
	Errors   []note `json:"errors"`
	Warnings []note `json:"warnings"`
}

type bulkProgress struct {
	Slug     string `json:"workspaceSlug"`
	Status   string `json:"status"`
	Reason   string `json:"reason"`
	Current  int    `json:"current"`
	Total    int    `json:"total"`
	Duration int64  `json:"duration"`
	Errors   []note `json:"errors"`
	Warnings []note `json:"warnings"`
}

// note is something to say about a workspace, or a file of it.
type note struct{ archive.Item }

// UnmarshalJSON implements json.Unmarshaler: notes are items, refusals or texts.
func (n *note) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &n.Msg) == nil {
		return nil
	}
	var refusal struct {
		Message string `json:"message"`
	}
	if err := json.Unmarshal(text, &refusal); err != nil {
		return err
	}
	err := json.Unmarshal(text, &n.Item)
	n.Msg = cmp.Or(n.Msg, refusal.Message, n.Err)
	return err
}

// showRunStart shows what a run is about to do.
func (b *progressDisplay) showRunStart(run bulkRun) {
	todo := 0
	for _, one := range run.Workspaces {
		if one.Status == "" || one.Status == operation.Candidate {
			todo++
		}
	}
	b.addLine(clean(fmt.Sprintf("%s of repository %s: %s, %d to do", run.OperationID, run.RepositoryID, count(len(run.Workspaces), "workspace"), todo)))
	b.showNotes("warning", run.Warnings)
	b.showBar(0, todo)
}

// showWorkspace shows what became of a workspace.
func (b *progressDisplay) showWorkspace(p bulkProgress) {
	colour := green
	switch p.Status {
	case operation.Faulty:
		colour = red
	case operation.Skipped:
		colour = yellow
	}
	text := fmt.Sprintf("%*d/%d  %s  %s  %s", len(fmt.Sprint(p.Total)), p.Current, p.Total, b.paint(colour, clean(p.Status)), clean(p.Slug), formatMilliseconds(p.Duration))
	if p.Reason != "" {
		text += "  (" + clean(p.Reason) + ")"
	}
	b.addLine(text)
	b.showNotes("error", p.Errors)
	b.showNotes("warning", p.Warnings)
	b.showBar(p.Current, p.Total)
}

// showBar moves the bar, where there is one.
func (b *progressDisplay) showBar(current, total int) {
	if b.live {
		b.rewriteFoot(bar(current, total))
	}
}

func (b *progressDisplay) showNotes(kind string, notes []note) {
	for _, n := range notes {
		b.addLine("      " + kind + ": " + itemText(n.Item))
	}
}

// printBulkResult tells what became of a run.
func (r *remote) printBulkResult(result json.RawMessage) error {
	var run bulkRun
	if err := decode(result, &run); err != nil {
		return err
	}
	if err := r.printResult(result, run.text); err != nil {
		return err
	}
	for _, one := range run.Workspaces {
		if one.Would == operation.Faulty {
			run.Errors++ // a plan does not count them
		}
	}
	switch {
	case run.Cancelled:
		return errors.New("the run was cancelled before it was done")
	case run.Errors > 0:
		return fmt.Errorf("%s could not be done", count(run.Errors, "workspace"))
	}
	return nil
}

// text is the summary of a run: a table, and what it comes to.
func (run bulkRun) text() string {
	rows := [][]string{{"WORKSPACE", "STATUS", "TIME", "NOTES"}}
	for _, one := range run.Workspaces {
		time := formatMilliseconds(one.Duration)
		if one.Duration == 0 {
			time = "-"
		}
		rows = append(rows, []string{one.Slug, cmp.Or(one.Status, one.Would), time, one.notes()})
	}
	text := ""
	if len(run.Workspaces) > 0 {
		text = table(rows...) + "\n"
	}
	for _, n := range run.Warnings {
		text += "warning: " + itemText(n.Item) + "\n"
	}
	return text + clean(run.summary()) + "\n"
}

// notes are the reason, and the first of what went wrong.
func (one bulkWorkspace) notes() string {
	text := one.Reason
	if one.Lost {
		text = "what was changed here would be lost"
	}
	if len(one.Errors) > 0 {
		text = itemText(one.Errors[0].Item)
	}
	if more := len(one.Errors) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// summary is what a run comes to.
func (run bulkRun) summary() string {
	switch {
	case run.DryRun:
		return fmt.Sprintf("%s of repository %s; nothing was changed", count(len(run.Workspaces), "workspace"), run.RepositoryID)
	case run.Name != "":
		return fmt.Sprintf("%s to %s: %d pushed, %d already pushed, %d in progress, %d in conflict, %d failed, in %s",
			run.Name, run.RepositoryID, run.Pushed, run.AlreadyPushed, run.InProgress, run.MergeConflicts, run.Errors, formatMilliseconds(run.Duration))
	}
	return fmt.Sprintf("from %s: %d created, %d updated, %d skipped, %d failed; %s imported, %d deleted, in %s",
		run.RepositoryID, run.Created, run.Updated, run.Skipped, run.Errors, count(run.Imported, "file"), run.Deleted, formatMilliseconds(run.Duration))
}
