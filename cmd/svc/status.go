package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"svc/commands/versioning"
	"svc/domain"
	"svc/projections"
)

// statusOutput is how a workspace stands with its repositories.
type statusOutput struct {
	State           string                 `json:"state"`
	Dirty           bool                   `json:"dirty"`
	ContentRevision uint64                 `json:"contentRevision"`
	SyncedRevision  uint64                 `json:"syncedRevision"`
	WriteLock       *projections.WriteLock `json:"writeLock"`
	Version         *struct{ Name, RepositoryID, At string }
	Repositories    []versioning.RepositoryStatus `json:"repositories"`
	Changes         []versioning.Drifted          `json:"changes"`
}

func statusCommand(w environment) *cobra.Command {
	var repository string
	var refresh bool
	r := &remote{environment: w}
	c := r.command(&cobra.Command{
		Use: "status WORKSPACE", Short: "Compare a workspace with its repositories",
		Long: "Tell how a workspace stands with its repositories: clean, local_dirty, remote_ahead, diverged or conflicted, and what differs.",
		Args: requireArguments(theWorkspace),
	}, func(ctx context.Context, _ []string) error {
		query := url.Values{"refresh": {strconv.FormatBool(refresh)}}
		if repository != "" {
			query.Set("repository", repository)
		}
		var s statusOutput
		got, err := r.Call(ctx, http.MethodGet, r.path("/status?"+query.Encode()), nil, &s)
		if err != nil {
			return err
		}
		return r.printResult(got.Body, func() string { return r.statusText(ctx, s) })
	})
	c.Flags().StringVar(&repository, "repository", "", "compare with this one (default: the one last pushed to or pulled from)")
	c.Flags().BoolVar(&refresh, "refresh", false, "ask the remotes now")
	return c
}

func (r *remote) statusText(ctx context.Context, s statusOutput) string {
	text := fmt.Sprintf("%s: content at revision %d, synced at %d\n", clean(s.State), s.ContentRevision, s.SyncedRevision)
	if s.Version != nil {
		text += clean(fmt.Sprintf("version %s of %s, %s", s.Version.Name, s.Version.RepositoryID, s.Version.At)) + "\n"
	}
	if s.WriteLock != nil {
		text += clean("locked by "+r.lockText(ctx, *s.WriteLock)) + "\n"
	}
	if len(s.Repositories) > 0 {
		rows := [][]string{{"REPOSITORY", "STATE", "AHEAD", "BEHIND", "BRANCH", "MODE", "CHECKED"}}
		for _, one := range s.Repositories {
			rows = append(rows, []string{one.ID, one.State, strconv.Itoa(one.Ahead), strconv.Itoa(one.Behind), one.Branch, one.Mode, checked(one)})
		}
		text += "\n" + table(rows...)
	}
	if len(s.Changes) > 0 {
		rows := [][]string{{"CHANGE", "SIDE", "OBJECT"}}
		for _, c := range s.Changes {
			object := c.Type
			if c.Slug != "" {
				object += "/" + c.Slug
			}
			rows = append(rows, []string{c.Change, c.Side, object})
		}
		text += "\n" + table(rows...)
	}
	return text
}

// checked tells when a remote was asked last, and why its answer is old.
func checked(one versioning.RepositoryStatus) string {
	text := "never"
	if one.CheckedAt != nil {
		text = domain.FormatTime(*one.CheckedAt)
	}
	if one.Error != nil {
		text += ", then: " + one.Error.Message
	}
	return text
}
