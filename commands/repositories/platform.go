package repositories

import (
	"maps"
	"path"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/document"
	"svc/domain/workspace"
)

// Platforms returns the repositories that administrators give to every workspace,
// by id. The root of a git one is the directory that workspaces have theirs in.
func (r *Repositories) Platforms() []Repository {
	if r.Platform == nil {
		return nil
	}
	return r.Platform()
}

// InPlatform returns a platform repository as the workspace with a slug meets it,
// whatever that workspace calls its own ones. It refuses an id that is not there,
// and slug_not_a_directory.
func (r *Repositories) InPlatform(id, slug string) (Repository, error) {
	found, known := r.platform(id)
	if !known {
		available := []string{}
		for _, one := range r.Platforms() {
			available = append(available, one.ID)
		}
		return Repository{}, notThere("there is no platform repository %s", id, available)
	}
	if strings.Contains(slug, "/") {
		return Repository{}, domain.Refuse(domain.CodeValidation, "the slug %s cannot be the name of a directory: choose one without / to use the repository %s", slug, id).
			Reason("slug_not_a_directory").With("slug", slug).With("repositoryId", id)
	}
	if found.Root = path.Join(found.Root, slug); found.Type == Filesystem {
		found.Root = slug
	}
	return found, nil
}

func (r *Repositories) platform(id string) (found Repository, known bool) {
	all := r.Platforms()
	if i := slices.IndexFunc(all, func(one Repository) bool { return one.ID == id }); i >= 0 {
		return all[i], true
	}
	return Repository{}, false
}

// shared lists the platform repositories that a workspace can use: those that
// none of its own hides.
func (r *Repositories) shared(state workspace.State) (list []Listed) {
	if strings.Contains(state.Settings.Slug, "/") {
		return nil
	}
	for _, one := range r.Platforms() {
		if _, hidden := state.Settings.Repositories.Get(one.ID); !hidden {
			list = append(list, Listed{one.ID, one.Name, one.Type, one.Mode, one.Branch})
		}
	}
	return list
}

// GroupNames returns all groups, sorted.
func (r *Repositories) GroupNames() []string {
	if r.Groups == nil {
		return []string{}
	}
	names := slices.AppendSeq([]string{}, maps.Keys(r.Groups()))
	slices.Sort(names)
	return names
}

// GroupsOf returns the groups that a workspace with these labels is in, sorted.
func (r *Repositories) GroupsOf(labels []string) []string {
	groups := []string{}
	if r.Groups == nil {
		return groups
	}
	for group, members := range r.Groups() {
		if slices.ContainsFunc(members, func(label string) bool { return slices.Contains(labels, label) }) {
			groups = append(groups, group)
		}
	}
	slices.Sort(groups)
	return groups
}

func notThere(format, id string, available []string) error {
	return domain.Refuse(domain.CodeNotFound, format, document.QuoteShort(id)).
		With("repositoryId", id).With("availableRepositories", available)
}
