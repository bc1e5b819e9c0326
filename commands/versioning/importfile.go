package versioning

import (
	"context"
	"maps"

	"svc/commands/archive"
	"svc/commands/repositories"
	"svc/commands/yamltext"
	"svc/domain/document"
)

// with returns a tree with files put and removed.
func with(tree, put archive.Tree, remove []string) archive.Tree {
	next := maps.Clone(tree)
	for _, p := range remove {
		delete(next, p)
	}
	maps.Copy(next, put)
	return next
}

// importFile returns the text of the file that tells others what a push to a
// platform repository has put there (contract 4.3). files is all of it.
func (s *saving) importFile(ctx context.Context, files archive.Tree) ([]byte, error) {
	slug, name, err := s.v.Apps.AppOf(ctx, s.state.ID)
	if err != nil {
		return nil, err
	}
	return archive.ImportFile{
		WorkspaceID: s.state.ID, Version: s.version.Name, Groups: s.v.Repositories.GroupsOf(s.state.Settings.Labels),
		DependsOn: s.v.dependencies(files, slug), AppSlug: slug, AppName: name, Checksums: files.Checksums(),
	}.Text()
}

// dependencies lists the apps whose instances are among files, but for the own one.
// What cannot be read depends on nothing.
func (v *Versioning) dependencies(files archive.Tree, own string) (list []string) {
	for p, text := range files {
		place, ok := archive.Locate(p)
		if !ok || place.Kind != document.Import {
			continue
		}
		doc, err := yamltext.ReadMap(text, v.limits().Document)
		if err != nil {
			continue
		}
		if app := doc.Text("appSlug"); app != "" && app != own {
			list = append(list, "app/"+app)
		}
	}
	return list
}

// abandoned lists the files to take away from the directory that the workspace had
// before it was renamed. They must be what was integrated last; another workspace
// that has the directory now keeps it.
func (s *saving) abandoned(ctx context.Context, there archive.Tree, repo repositories.Repository) ([]string, error) {
	if text, ok := there[archive.ImportPath]; ok {
		if file, err := archive.ReadImportFile(text, s.v.limits().Document); err == nil && file.WorkspaceID != s.state.ID {
			return nil, nil
		}
	}
	before, err := s.v.kept(ctx, s.was.Files)
	if err != nil {
		return nil, err
	}
	if len(objects(there)) > 0 && !sameBytes(there, before) {
		return nil, notUpToDate(repo, len(differ(s.files, before, s.v.limits().Document)), changed(before, there)).With("path", s.was.Root)
	}
	return there.Paths(), nil
}
