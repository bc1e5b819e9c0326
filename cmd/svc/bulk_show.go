package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"svc/commands/archive"
	"svc/domain/operation"
)

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

// begin shows what a run is about to do.
func (b *board) begin(run bulkRun) {
	todo := 0
	for _, one := range run.Workspaces {
		if one.Status == "" || one.Status == operation.Candidate {
			todo++
		}
	}
	b.line(clean(fmt.Sprintf("%s of repository %s: %s, %d to do", run.OperationID, run.RepositoryID, count(len(run.Workspaces), "workspace"), todo)))
	b.notes("warning", run.Warnings)
	b.fill(0, todo)
}

// one shows what became of a workspace.
func (b *board) one(p bulkProgress) {
	colour := green
	switch p.Status {
	case operation.Faulty:
		colour = red
	case operation.Skipped:
		colour = yellow
	}
	text := fmt.Sprintf("%*d/%d  %s  %s  %s", len(fmt.Sprint(p.Total)), p.Current, p.Total, b.paint(colour, clean(p.Status)), clean(p.Slug), took(p.Duration))
	if p.Reason != "" {
		text += "  (" + clean(p.Reason) + ")"
	}
	b.line(text)
	b.notes("error", p.Errors)
	b.notes("warning", p.Warnings)
	b.fill(p.Current, p.Total)
}

// fill moves the bar, where there is one.
func (b *board) fill(current, total int) {
	if b.live {
		b.rewrite(bar(current, total))
	}
}

func (b *board) notes(kind string, notes []note) {
	for _, n := range notes {
		b.line("      " + kind + ": " + itemText(n.Item))
	}
}

// ran tells what became of a run.
func (r *remote) ran(result json.RawMessage) error {
	var run bulkRun
	if err := decode(result, &run); err != nil {
		return err
	}
	if err := r.answer(result, run.text); err != nil {
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
		time := took(one.Duration)
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
	return text + clean(run.sum()) + "\n"
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

// sum is what a run comes to.
func (run bulkRun) sum() string {
	switch {
	case run.DryRun:
		return fmt.Sprintf("%s of repository %s; nothing was changed", count(len(run.Workspaces), "workspace"), run.RepositoryID)
	case run.Name != "":
		return fmt.Sprintf("%s to %s: %d pushed, %d already pushed, %d in progress, %d in conflict, %d failed, in %s",
			run.Name, run.RepositoryID, run.Pushed, run.AlreadyPushed, run.InProgress, run.MergeConflicts, run.Errors, took(run.Duration))
	}
	return fmt.Sprintf("from %s: %d created, %d updated, %d skipped, %d failed; %s imported, %d deleted, in %s",
		run.RepositoryID, run.Created, run.Updated, run.Skipped, run.Errors, count(run.Imported, "file"), run.Deleted, took(run.Duration))
}
