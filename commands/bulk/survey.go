package bulk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"svc/commands/archive"
	"svc/commands/gitsync"
	"svc/commands/versioning"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/slug"
)

// found is a directory of a source that is a workspace.
type found struct {
	slug   string
	file   archive.ImportFile
	broken error // why its import file cannot be read
}

// survey lists the workspaces of a source that are in one of some groups, or all of
// them without groups.
func (r *Runs) survey(ctx context.Context, source *versioning.Source, groups []string) (list []found, warnings []archive.Item, err error) {
	names, err := source.Directories(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		if strings.HasPrefix(name, ".") {
			continue
		}
		if wrong := slug.CheckWorkspace(name); wrong != "" && name != domain.Platform {
			warnings = append(warnings, note(WarnInvalidDirectory, document.QuoteShort(name), "is left out: the name of the directory cannot be the slug of a workspace: it "+wrong))
			continue
		}
		one, has, err := look(ctx, source, name)
		switch {
		case err != nil:
			return nil, nil, err
		case one.broken != nil && len(groups) > 0:
			warnings = append(warnings, note(WarnInvalidImportFile, name+"/"+archive.ImportPath, "is left out, because its groups cannot be read: "+one.broken.Error()))
		case len(groups) == 0 || has && one.in(groups):
			list = append(list, one)
		}
	}
	if limit := r.Limit(); len(list) > limit {
		return nil, nil, archive.Exceeded("workspaces", limit, "")
	}
	if len(list) == 0 {
		warnings = append(warnings, note(WarnNoMatch, "", nothing(groups)))
	}
	return list, warnings, nil
}

func nothing(groups []string) string {
	if len(groups) == 0 {
		return "the repository has no workspace"
	}
	return fmt.Sprintf("no workspace of the repository is in %s", strings.Join(groups, ", "))
}

// look reads the import file of a directory.
func look(ctx context.Context, source *versioning.Source, name string) (one found, has bool, err error) {
	file, has, err := source.ImportFile(ctx, name)
	one, err = found{slug: name, file: file}.judged(err)
	return one, has, err
}

// take reads all files of a directory.
func take(ctx context.Context, source *versioning.Source, name string) (one found, files *gitsync.Files, err error) {
	var file archive.ImportFile
	if files, err = source.Files(ctx, name); err == nil {
		file, _, err = source.ImportFileIn(files)
	}
	one, err = found{slug: name, file: file}.judged(err)
	return one, files, err
}

// judged tells what is wrong with one directory from what is wrong with all.
func (f found) judged(err error) (found, error) {
	_, refused := errors.AsType[*domain.Error](err)
	_, faulty := errors.AsType[*document.Fault](err)
	if refused || faulty { // one directory keeps nobody else out
		f.broken, err = err, nil
	}
	return f, err
}

func (f found) in(groups []string) bool {
	return slices.ContainsFunc(f.file.Groups, func(g string) bool { return slices.Contains(groups, g) })
}

// member is the workspace as far as the order goes.
func (f found) member() member {
	m := member{slug: f.slug, app: f.file.AppSlug}
	for _, on := range f.file.DependsOn {
		if app, ok := strings.CutPrefix(on, "app/"); ok {
			m.needs = append(m.needs, app)
		}
	}
	return m
}

// arranged puts workspaces in order, and tells of what is odd about that.
func (r *Runs) arranged(ctx context.Context, list []found) (o order, warnings []archive.Item, err error) {
	members := make([]member, len(list))
	for i, one := range list {
		members[i] = one.member()
	}
	o = arrange(members)
	for _, cycle := range o.cycles {
		names := strings.Join(cycle, ", ")
		warnings = append(warnings, note(WarnCycle, cycle[0], "use each other's apps and are imported by slug: "+names))
	}
	for _, slug := range o.slugs {
		for _, app := range o.missing[slug] {
			by, err := r.Known.Publisher(ctx, app)
			if err != nil {
				return o, nil, err
			}
			if by == "" {
				warnings = append(warnings, note(WarnMissing, slug, "uses the app "+app+", which is neither published here nor among the workspaces of this run"))
			}
		}
	}
	return o, warnings, nil
}
