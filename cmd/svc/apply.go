package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"svc/cmd/client"
	"svc/commands/archive"
	"svc/domain"
)

// directory is a directory in the layout of an archive, and how it is applied to a workspace.
type directory struct {
	remote
	into               string
	prune, strict, dry bool
}

func applyCommand(w environment) *cobra.Command {
	d := &directory{remote: remote{environment: w}}
	c := d.command(&cobra.Command{
		Use: "apply DIR", Short: "Make a workspace what a directory says",
		Long: "Make a workspace what a directory in the layout of an archive says: index.yml, automations/*.yml, pages/*.yml and so on. It is made\n" +
			"when it is missing. A file that is wrong is named with its line, and the others are applied; with --strict nothing is.\n" +
			"Exit status 1 when a file was refused.",
		Args: requireArguments("a directory"),
	}, d.apply)
	d.flag(c)
	c.Flags().BoolVar(&d.prune, "prune", false, "delete documents that the directory does not have")
	c.Flags().BoolVar(&d.strict, "strict", false, "apply nothing when one file is wrong")
	c.Flags().BoolVar(&d.dry, "dry-run", false, "only say what would change")
	return c
}

func validateCommand(w environment) *cobra.Command {
	d := &directory{remote: remote{environment: w}, dry: true}
	c := d.command(&cobra.Command{
		Use: "validate DIR", Short: "Check the files of a directory, and change nothing",
		Long: "Check a directory in the layout of an archive as `svc apply` would: what is wrong is named with its file and line.\nExit status 1 when something is wrong.",
		Args: requireArguments("a directory"),
	}, d.apply)
	d.flag(c)
	return c
}

func (d *directory) flag(c *cobra.Command) {
	c.Flags().StringVar(&d.into, "workspace", "", "the workspace, by its id or slug (default: the slug in index.yml)")
}

func (d *directory) apply(ctx context.Context, args []string) error {
	packed, err := zipDirectory(args[0])
	if err != nil {
		return err
	}
	name := d.into
	if name == "" {
		index, err := os.ReadFile(filepath.Join(args[0], "index.yml"))
		if err != nil {
			return fmt.Errorf("%s is no workspace: %w", args[0], err)
		}
		if name = slugOf(index); name == "" {
			return fmt.Errorf("%w: index.yml has no slug: name the workspace with --workspace", errUsage)
		}
	}
	d.named = name
	if d.workspace, err = d.Workspace(ctx, name); err != nil {
		return err
	}
	body := client.Content{Type: "application/zip", Data: packed}
	query := "?" + url.Values{"prune": {strconv.FormatBool(d.prune)}, "strict": {strconv.FormatBool(d.strict)}, "dryRun": {strconv.FormatBool(d.dry)}}.Encode()
	err = d.Get(ctx, d.path(""), new(struct{}))
	refused, ok := errors.AsType[*client.Error](err)
	switch {
	case ok && d.into == "" && (refused.Code == domain.CodeNotFound || refused.Code == domain.CodeWorkspaceDenied):
		return d.send(ctx, "/workspaces/import"+query, body)
	case err != nil:
		return err
	case d.dry:
		return d.send(ctx, d.path("/import"+query), body)
	}
	op, err := d.start(ctx, d.path("/import"+query+"&timeout=0"), body)
	if err != nil {
		return err
	}
	return d.print(client.Answer{Body: op.Result})
}

// send sends an archive that is answered at once.
func (d *directory) send(ctx context.Context, path string, body client.Content) error {
	got, err := d.Call(ctx, http.MethodPost, path, body, nil)
	if err != nil {
		return err
	}
	return d.print(got)
}

// print says what became of the files. Only a result without errors is a success.
func (d *directory) print(got client.Answer) error {
	text, failed := importText(nil, got)
	if text == "" && failed == nil {
		text = "nothing changes\n"
	}
	if d.dry && failed == nil {
		text += "nothing is wrong, and nothing was changed\n"
	}
	if err := d.printResult(got.Body, func() string { return text }); err != nil {
		return err
	}
	return failed
}

// zipDirectory packs a directory, without what begins with a dot.
func zipDirectory(dir string) ([]byte, error) {
	tree := archive.Tree{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name, relErr := filepath.Rel(dir, path)
		switch {
		case err != nil || relErr != nil:
			return errors.Join(err, relErr)
		case name != "." && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case !entry.Type().IsRegular():
			return nil
		}
		tree[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = tree.WriteZip(&b)
	return b.Bytes(), err
}
