package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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
	for name, text := range maps.All(tree) {
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
