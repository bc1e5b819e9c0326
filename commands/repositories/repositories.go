// Package repositories is where the content of workspaces is pushed to and pulled
// from (contract/versioning.md 2): how a repository is saved without a credential
// in clear, found with what it takes to connect, and tried out.
package repositories

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"svc/commands"
	"svc/commands/archive"
	"svc/commands/filesync"
	"svc/commands/gitsync"
	"svc/commands/secrets"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/shape"
	"svc/domain/workspace"
)

// Repositories saves and finds the repositories of workspaces. The first four
// fields are required.
type Repositories struct {
	Workspaces commands.Workspaces
	Secrets    secrets.Secrets
	Vault      commands.Vault
	Git        func() gitsync.Options // of the node, as they are now

	// Platform returns those that administrators give to every workspace, by id, with
	// their credentials; nil: there are none.
	Platform func() []Repository
	// Groups returns the labels that make a workspace a member, by group; nil: there
	// are no groups.
	Groups func() map[string][]string
}

// The types of repositories.
const (
	Git        = "git"
	Archive    = "archive"    // says what imports of archives leave out; nobody connects to it
	Filesystem = "filesystem" // a directory of this machine: administrators alone have such
)

// The modes of repositories.
const (
	ReadWrite = "read-write"
	ReadOnly  = "read-only"
	WriteOnly = "write-only" // still read, to see whether a push is in sync
)

// Repository is one to connect to, with its credentials.
type Repository struct {
	ID       string
	Name     string
	Type     string
	Mode     string
	Remote   gitsync.Remote
	Address  string // of Remote as it is written: references to secrets stand
	Branch   string
	Root     string // directory of the workspace in it; "": its root
	Dir      string // of a filesystem one: the directory, absolute, that workspaces have theirs in
	Excludes archive.Excludes
	Checks   bool // the tests of a workspace must pass before it is pushed
	Platform bool // an administrator gave it to every workspace
}

// CanPush refuses to push to a repository that is only read.
func (r Repository) CanPush() error {
	if r.Mode == ReadOnly {
		return r.denied("the repository %s is only read: nothing is pushed to it", "repository_read_only")
	}
	return nil
}

// CanPull refuses to pull from a repository that is only written.
func (r Repository) CanPull() error {
	if r.Mode == WriteOnly {
		return r.denied("the repository %s is only written: nothing is pulled from it", "repository_write_only")
	}
	return nil
}

func (r Repository) denied(format, reason string) error {
	return domain.Refuse(domain.CodePermissionDenied, format, r.ID).Reason(reason).With("repositoryId", r.ID)
}

// Listed is what anybody may know of a repository who reads the workspace.
type Listed struct {
	ID, Name, Type, Mode string
	Branch               string // "": it has none
}

// List returns the repositories of a workspace by id, with those of the platform.
func (r *Repositories) List(state workspace.State) []Listed {
	all := state.Settings.Repositories
	list := make([]Listed, 0, all.Len())
	for _, id := range all.Keys() {
		doc := withDefaults(all.Object(id))
		list = append(list, Listed{id, doc.Text("name"), doc.Text("type"), doc.Text("mode"), configOf(doc).branch})
	}
	list = append(list, r.shared(state)...)
	slices.SortFunc(list, func(a, b Listed) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// Find returns a repository of a workspace, ready to connect: what is sealed is
// opened, references to secrets are resolved. One of the platform is found when
// none of its own has the id. It refuses one that is not there, one that nobody
// connects to, and secret_missing.
func (r *Repositories) Find(ctx context.Context, state workspace.State, id string) (Repository, error) {
	if _, own := state.Settings.Repositories.Get(id); !own {
		if _, shared := r.platform(id); shared {
			return r.InPlatform(id, state.Settings.Slug)
		}
		return Repository{}, r.unknown(state, id)
	}
	doc := withDefaults(state.Settings.Repositories.Object(id))
	found := Repository{
		ID: id, Name: doc.Text("name"), Type: doc.Text("type"), Mode: doc.Text("mode"), Excludes: archive.ExcludesOf(doc), Checks: doc.Text("checks") == "required",
	}
	if found.Type == Archive {
		return Repository{}, domain.Refuse(domain.CodeValidation,
			"the repository %s says what imports of archives leave out: it cannot be connected to; choose one of type git", id).
			Reason("archive_repository").With("repositoryId", id)
	}
	to, err := r.resolveSecrets(ctx, state, id, configOf(doc))
	if err != nil {
		return Repository{}, err
	}
	found.Address = configOf(doc).remote.URL
	found.Remote, found.Branch, found.Root = to.remote, to.branch, to.dirpath
	return found, shape.Refusal(to.misplaced("config."))
}

func (r *Repositories) unknown(state workspace.State, id string) error {
	available := []string{}
	for _, one := range r.List(state) {
		available = append(available, one.ID)
	}
	return notFoundError("the workspace has no repository %s", id, available)
}

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
		return Repository{}, notFoundError("there is no platform repository %s", id, available)
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

func notFoundError(format, id string, available []string) error {
	return domain.Refuse(domain.CodeNotFound, format, document.QuoteShort(id)).
		With("repositoryId", id).With("availableRepositories", available)
}

// Report is the result of connecting to a repository.
type Report struct {
	Reachable    bool // it answered, and let us in
	Empty        bool
	Branches     []string // sorted
	TargetExists bool     // its branch is among them
	FinalURL     string   // after redirects, without credentials
	HostKey      *gitsync.HostKey
	Error        *domain.Error // why it is not reachable, and what to do about it
}

// testTimeout is the timeout of a test.
const testTimeout = 15 * time.Second

// Test connects to a repository and changes nothing. A fault of the remote is in the report; an error
// is one of Find.
func (r *Repositories) Test(ctx context.Context, state workspace.State, id string) (Report, error) {
	repository, err := r.Find(ctx, state, id)
	if err != nil {
		return Report{}, err
	}
	if repository.Type == Filesystem {
		return repository.testDirectory(ctx)
	}
	options := r.Git()
	options.Cache, options.Timeouts.Exchange = "", testTimeout // nothing is fetched
	session, err := gitsync.Open(repository.Remote, options)
	if err != nil {
		return failedReport(Report{}, err)
	}
	defer session.Close()
	refs, err := session.ListRefs(ctx)
	report := Report{FinalURL: repository.publicAddress(session.FinalURL()), HostKey: session.HostKey(), Branches: []string{}}
	if err != nil {
		return failedReport(report, err)
	}
	report.Reachable, report.Empty = true, refs.Empty()
	for name := range refs.IDs {
		if branch, ok := strings.CutPrefix(name, "refs/heads/"); ok {
			report.Branches = append(report.Branches, branch)
		}
	}
	slices.Sort(report.Branches)
	report.TargetExists = refs.Branch(repository.Branch) != ""
	return report, nil
}

// testDirectory opens a directory and looks for that of the workspace, which is reported as the
// branch.
func (r Repository) testDirectory(ctx context.Context) (Report, error) {
	report := Report{FinalURL: r.Address, Branches: []string{}}
	dir, err := filesync.Open(r.Dir, archive.Usual)
	if err != nil {
		return failedReport(report, err)
	}
	defer func() { _ = dir.Close() }() // it was only read
	names, err := dir.Directories(ctx)
	if err != nil {
		return failedReport(report, err)
	}
	report.Reachable, report.Empty, report.TargetExists = true, len(names) == 0, slices.Contains(names, r.Root)
	return report, nil
}

// publicAddress returns an address for answers: with references to secrets, it is not resolved.
func (r Repository) publicAddress(address string) string {
	if hasReference(r.Address) {
		return r.Address
	}
	return address
}

// failedReport adds a refusal to a report; any other error is returned.
func failedReport(report Report, err error) (Report, error) {
	refusal, ok := errors.AsType[*domain.Error](err)
	if !ok {
		return Report{}, err
	}
	reason, _ := refusal.Details["reason"].(string)
	safe := domain.Error{Code: refusal.Code, Message: refusal.Message, Details: refusal.Details}
	if next := advice[reason]; next != "" {
		safe.Message += ". " + next
	}
	if line, _ := refusal.Details["line"].(string); line != "" {
		safe.Message += ": " + line
	}
	report.Error, report.Branches = &safe, []string{}
	return report, nil
}

// advice says what to do about a failure, by its reason.
var advice = map[string]string{
	"remote_certificate_untrusted": "An administrator can trust it for all repositories in EXTRA_CA_CERTS_FILE",
	"remote_host_key_unknown":      "An administrator can add it for all repositories to GIT_KNOWN_HOSTS_FILE. The line",
	"remote_host_key_mismatch":     "When its owner confirms the new key, replace the line in knownHosts",
	"remote_address_forbidden":     "An administrator can allow it in EGRESS_ALLOW_HOSTS",
	"remote_auth_failed":           "Check auth: the user, and that the password, access token or key is valid and may read this repository",
	"remote_not_found":             "Check the path in url, and that auth is of somebody who may read the repository",
	"remote_unreachable":           "Check the host and the port in url, and that this platform may connect to it",
	"remote_timeout":               "Check the host and the port in url, and whether a firewall is in between",
	"remote_protocol_error":        "Check that url is the address one clones from",
	"remote_redirected":            "Put the address it leads to into url",
}
