package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"svc/commands/archive"
	"svc/domain/slug"
)

// templateFiles are workspaces to begin with, a folder each.
//
//go:embed templates
var templateFiles embed.FS

// templateNames are the templates, sorted.
func templateNames() (names []string) {
	entries, _ := templateFiles.ReadDir("templates") // it is embedded
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// template returns the files of a template for a workspace with this name. service is where its schemas are.
func template(name, workspace, service string) (archive.Tree, error) {
	if !slices.Contains(templateNames(), name) {
		return nil, fmt.Errorf("%w: there is no template %q; there are %s", errUsage, name, strings.Join(templateNames(), ", "))
	}
	fill := strings.NewReplacer("{schemas}", service+"/v2/schemas", "{name}", strconv.Quote(workspace), "{slug}", slugFor(workspace))
	tree, root := archive.Tree{}, path.Join("templates", name)
	err := fs.WalkDir(templateFiles, root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := templateFiles.ReadFile(file)
		tree[strings.TrimPrefix(file, root+"/")] = []byte(fill.Replace(string(text)))
		return err
	})
	return tree, err
}

// writeTemplate writes the files of a template into a directory. It refuses to when one is there already.
func writeTemplate(dir string, tree archive.Tree) error {
	for _, name := range tree.Paths() {
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name))); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, fmt.Errorf("%s is there already: choose an empty directory", filepath.Join(dir, name)))
		}
	}
	for name, text := range tree {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// workspaceName is what a workspace of a directory is called that has no name yet.
func workspaceName(dir string) (string, error) {
	whole, err := filepath.Abs(dir)
	return filepath.Base(whole), err
}

// slugFor makes the slug of a workspace of its name.
func slugFor(name string) string {
	made := strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name)), "-")
	if slug.CheckWorkspace(made) != "" {
		return "my-workspace"
	}
	return made
}

// initialise is how `svc init` is asked.
type initialise struct {
	remote
	template, name string
}

func initCommand(w environment) *cobra.Command {
	i := &initialise{remote: remote{environment: w}}
	c := &cobra.Command{
		Use: "init [DIR]", Short: "Write the files of a workspace to begin with",
		Long: "Write the files of a workspace to begin with into an empty directory. `svc dev DIR` runs them, `svc apply DIR` saves them.\n" +
			"Editors that know the YAML language server check the files while they are written.",
		Args: optionalDirectory,
		RunE: func(_ *cobra.Command, args []string) error { return i.run(directoryOf(args)) },
	}
	i.flags(c)
	c.Flags().StringVar(&i.template, "template", "api", "what to begin with: "+strings.Join(templateNames(), ", "))
	c.Flags().StringVar(&i.name, "name", "", "the name of the workspace (default: that of the directory)")
	return c
}

func (i *initialise) run(dir string) (err error) {
	name := i.name
	if name == "" {
		if name, err = workspaceName(dir); err != nil {
			return err
		}
	}
	service := localService
	if i.connect() == nil {
		service = i.URL
	}
	tree, err := template(i.template, name, service)
	if err == nil {
		err = writeTemplate(dir, tree)
	}
	if err != nil {
		return err
	}
	if i.asJSON {
		return writeJSON(i.environment, map[string]any{"directory": dir, "template": i.template, "files": tree.Paths()})
	}
	_, err = fmt.Fprintf(i.out, "%snext: svc dev %s\n", withSign("+", tree.Paths()), dir)
	return err
}

// optionalDirectory refuses a command line with more than a directory.
func optionalDirectory(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%w: it is %s [DIR]", errUsage, c.CommandPath())
	}
	return nil
}

// directoryOf is the directory that is named, else the present one.
func directoryOf(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	return "."
}
