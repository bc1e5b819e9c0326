package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"svc/cmd/client"
	"svc/commands/archive"
	"svc/domain/document"
	"svc/domain/textdiff"
)

// linked is a command about the workspace of a directory.
type linked struct {
	remote
	into string
}

// connectLinked finds the workspace of a directory: by the flag, by what `svc dev` remembers, else by the slug
// in index.yml. A directory with a service of its own is asked about there.
func (l *linked) connectLinked(ctx context.Context, d *linkedDirectory) (err error) {
	if d.WorkspaceID != "" && d.URL == "" && l.profile == "" {
		l.Client = &client.Client{URL: embeddedURL(d.Port), Token: d.Token}
	} else if err := l.connect(); err != nil {
		return err
	}
	name := l.into
	if name == "" && (d.URL == "" || d.URL == l.URL) {
		name = d.WorkspaceID
	}
	if name == "" {
		tree, err := d.read()
		if err != nil {
			return err
		}
		if name = slugOf(tree[pathsByPlace(tree)[document.Index.Name]]); name == "" {
			return fmt.Errorf("%w: %s has no index.yml with a slug: name the workspace with --workspace", errUsage, d.path)
		}
	}
	l.named = name
	l.workspace, err = l.Workspace(ctx, name)
	return err
}

func diffCommand(w environment) *cobra.Command {
	l := &linked{remote: remote{environment: w}}
	c := &cobra.Command{
		Use: "diff DIR", Short: "Compare the files of a directory with a workspace",
		Long: "Compare the files of a directory with the content of a workspace: what the directory would change. Files that mean the same are the same.\n" +
			"Exit status 1 when something differs.",
		Args: requireArguments("a directory"),
		RunE: func(c *cobra.Command, args []string) error {
			return l.explain(c.Context(), l.diff(c.Context(), args[0]))
		},
	}
	l.flags(c)
	c.Flags().StringVar(&l.into, "workspace", "", "the workspace, by its id or slug (default: that of svc dev, else the slug in index.yml)")
	return c
}

// fileDifference is a file that the directory and the workspace have differently.
type fileDifference struct {
	Path   string `json:"path"`
	Status string `json:"status"` // added, changed or deleted: in the directory
	Diff   string `json:"diff"`
}

func (l *linked) diff(ctx context.Context, dir string) error {
	if _, err := os.Stat(dir); err != nil {
		return err
	}
	d, err := openLinked(dir)
	if err != nil {
		return err
	}
	if err := l.connectLinked(ctx, d); err != nil {
		return err
	}
	local, err := d.read()
	if err != nil {
		return err
	}
	there, _, err := l.fetchContent(ctx, link{})
	if err != nil {
		return err
	}
	found := compareTrees(local, there)
	if l.asJSON {
		err = writeJSON(l.environment, map[string]any{"files": found})
	}
	for _, one := range found {
		if !l.asJSON {
			_, err = fmt.Fprint(l.out, one.Diff)
		}
	}
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("%s different", count(len(found), "file"))
	}
	return err
}

// compareTrees returns what differs in meaning, by place.
func compareTrees(local, there archive.Tree) []fileDifference {
	found := []fileDifference{}
	localPaths, paths := pathsByPlace(local), pathsByPlace(there)
	places := maps.Clone(localPaths)
	maps.Copy(places, paths)
	for _, place := range slices.Sorted(maps.Keys(places)) {
		here, isHere := local[localPaths[place]]
		was, isThere := there[paths[place]]
		one := fileDifference{Path: localPaths[place], Status: "changed"}
		switch {
		case !isHere && (place == document.Security.Name || place == document.Index.Name):
			continue // a directory without one does not delete it
		case !isHere:
			one.Path, one.Status = paths[place], "deleted"
		case !isThere:
			one.Status = "added"
		}
		location, _ := archive.Locate(one.Path)
		before, after := canonicalOr(location, was), canonicalOr(location, here)
		if one.Diff = textdiff.Unified(one.Path, before, after); one.Diff != "" {
			found = append(found, one)
		}
	}
	return found
}

// canonicalOr is the canonical text of a document, or what there is of one that cannot be read.
func canonicalOr(location archive.Location, text []byte) []byte {
	if text == nil {
		return nil
	}
	if canonical, err := archive.Canonical(location, text, archive.Usual.Document); err == nil {
		return canonical
	}
	return text
}

func openCommand(w environment) *cobra.Command {
	l := &linked{remote: remote{environment: w}}
	c := &cobra.Command{
		Use: "open [WORKSPACE] [PLACE]", Short: "Open the console at a workspace, or at a place in it",
		Long: "Print the address of the console, and open it when this is a terminal: of a workspace, or of the workspace of this directory.\n" +
			"PLACE is an object or a screen, as in an archive: automations/greet, pages/home, activity, data, history, settings.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 2 {
				return fmt.Errorf("%w: it is %s [WORKSPACE] [PLACE]", errUsage, c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return l.explain(c.Context(), l.open(c.Context(), args)) },
	}
	l.flags(c)
	return c
}

// screens are the first parts of the places of a workspace in the console.
var screens = []string{"automations", "pages", "blocks", "apps", "files", "map", "config", "activity", "data", "waits", "observability", "versioning", "conflicts", "history", "webhooks", "security", "settings"}

func (l *linked) open(ctx context.Context, args []string) error {
	d, err := openLinked(".")
	if err != nil {
		return err
	}
	if len(args) > 0 {
		l.into, d = args[0], &linkedDirectory{path: "."}
	}
	place := ""
	if len(args) == 2 {
		place = "/" + strings.TrimSuffix(strings.TrimSuffix(args[1], ".yaml"), ".yml")
		if first, _, _ := strings.Cut(place[1:], "/"); !slices.Contains(screens, first) {
			return fmt.Errorf("%w: there is no screen %q; there are %s", errUsage, first, strings.Join(screens, ", "))
		}
	}
	if err := l.connectLinked(ctx, d); err != nil {
		return err
	}
	var workspace struct{ ID string }
	if err := l.Get(ctx, l.path(""), &workspace); err != nil {
		return err
	}
	address := l.URL + "/console/w/" + workspace.ID + place
	if l.asJSON {
		return writeJSON(l.environment, map[string]string{"url": address})
	}
	if _, err := fmt.Fprintln(l.out, address); err != nil {
		return err
	}
	if _, state := terminal(l.out); state == nil {
		return nil
	}
	program := map[string]string{"darwin": "open"}[runtime.GOOS]
	if program == "" {
		program = "xdg-open"
	}
	browser, err := exec.LookPath(program)
	if errors.Is(err, exec.ErrNotFound) {
		return nil // the address was printed
	}
	if err != nil {
		return err
	}
	return exec.CommandContext(context.WithoutCancel(ctx), browser, address).Start() //nolint:gosec // the address of the own service
}
