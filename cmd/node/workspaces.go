package node

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"svc/cmd/settings"
	"svc/commands"
	"svc/commands/apps"
	"svc/commands/archive"
	"svc/commands/bulk"
	"svc/commands/content"
	"svc/commands/extract"
	"svc/commands/files"
	"svc/commands/gitsync"
	"svc/commands/knowledge"
	"svc/commands/llm"
	"svc/commands/operations"
	"svc/commands/repositories"
	"svc/commands/secrets"
	"svc/commands/vault"
	"svc/commands/versioning"
	"svc/domain"
	"svc/domain/automation"
	"svc/eventstore/jetstream"
	"svc/streams"
	"svc/streams/library"
	"svc/streams/search"
)

// workspaceServices change and read workspaces, their content and their repositories.
type workspaceServices struct {
	workspaces     commands.Workspaces
	content        *content.Content
	library        *library.Library
	vault          *vault.Vault
	secrets        *secrets.Opener // of automations and repositories
	files          *files.Files
	documents      *knowledge.Documents // of knowledge bases
	reindexes      knowledge.Reindexes  // of knowledge bases
	searcher       *search.Searcher     // in knowledge bases
	asker          *knowledge.Asker     // of questions to knowledge bases
	recorder       *knowledge.Recorder  // of searches, questions and their usage
	crawls         crawls
	extractor      *extract.Extractor // of texts of files
	languageModels *llm.Models
	apps           apps.Apps
	repositories   *repositories.Repositories
	operations     *operations.Runner
	versioning     *versioning.Versioning
	bulk           *bulk.Runs
	importRights   *bulk.LateRights
}

func (n *Node) openWorkspaces(ctx context.Context) error {
	keys, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "DATAKEYS"})
	if err != nil {
		return err
	}
	s := &workspaceServices{
		workspaces: commands.Workspaces{
			Engine:        n.engine,
			LockTimeout:   func() time.Duration { return n.config().Workspaces.LockTimeout },
			DeletionDelay: func() time.Duration { return n.config().Events.DeletionDelay },
		},
		vault: vault.New(n.identity.box, keys),
	}
	n.workspaces = s
	if s.library, err = library.New(n.models, n.store.Log, n.store.Blobs); err != nil {
		return err
	}
	s.apps = apps.Apps{
		Engine: n.engine, Now: time.Now, Workspaces: s.workspaces, Revisions: s.library, Shelf: s.library.Shelf, Published: s.library,
	}
	s.content = &content.Content{
		Workspaces: s.workspaces, Library: s.library, Blobs: n.store.Blobs, Apps: s.library, Vault: s.vault,
		Rules: func() automation.Rules {
			r := n.config().Runtime
			return automation.Rules{MaxWait: r.WaitMaxTimeout, MinPeriod: r.SchedulesMinPeriod, Slug: r.SlugPattern}
		},
		Limits: func() archive.Limits {
			limits := archive.Usual
			limits.ArchiveBytes = int(n.config().HTTP.ImportMaxSize)
			return limits
		},
		MaxBases: func() int { return n.config().Knowledge.MaxBases }, CountDocuments: s.library.CountDocuments, FindDeletedBase: n.findDeletedBase,
		SourceRules: func() content.SourceRules {
			c := n.config().Crawler
			return content.SourceRules{MaxPages: c.MaxPages, MinPeriod: c.MinPeriod, RobotsExempt: c.RobotsExempt}
		},
		CheckEmbedding: func(ctx context.Context, workspaceID, model string) error {
			_, err := s.languageModels.Resolve(ctx, workspaceID, model, llm.EmbeddingKind)
			return err
		},
		CheckChat: func(ctx context.Context, workspaceID, model string) error {
			_, err := s.languageModels.Resolve(ctx, workspaceID, model, llm.ChatKind)
			return err
		},
		Publish: s.apps.PublishImported, SecretDefaults: n.secretDefaults,
	}
	s.secrets = secrets.NewOpener(n.models, s.vault, func() map[string]map[string]string { return reveal(n.config().Runtime.WorkspaceSecrets) })
	platform, err := platformRepositories(n.config().Bulk.Repositories)
	groups := n.config().Bulk.Groups
	s.repositories = &repositories.Repositories{
		Workspaces: s.workspaces, Secrets: secrets.Secrets{Values: s.secrets}, Vault: s.vault, Git: n.gitOptions,
		Platform: func() []repositories.Repository { return platform },
		Groups:   func() map[string][]string { return groups },
	}
	return err
}

// startWorkspaceWork starts the background work of workspaces.
func (n *Node) startWorkspaceWork() {
	s := n.workspaces
	upkeep := streams.OperationMaintenance{Models: n.models, Operations: s.operations, Workspaces: s.workspaces, Log: n.log}
	n.repeat("write locks", time.Second, "a lock that has expired could not be released yet", upkeep.ExpireLocks)
	n.repeat("operations", time.Second, "operations whose node is gone could not be searched", upkeep.Adopt)
	n.repeat("files", time.Minute, "expired files are not all deleted yet", func(ctx context.Context) error {
		_, err := s.files.Expire(ctx, s.library, time.Now())
		return err
	})
	n.repeat("documents", expiryPeriod, "expired documents are not all deleted yet", func(ctx context.Context) error {
		_, err := s.documents.Expire(ctx, s.library, time.Now())
		return err
	})
}

// expiryPeriod is how often expired documents of knowledge bases are deleted: they are gone within a minute.
const expiryPeriod = 15 * time.Second

// secretDefaults returns the names of the secrets that the settings give a workspace.
func (n *Node) secretDefaults(workspaceSlug string) map[string]bool {
	names := map[string]bool{}
	for name := range n.config().Runtime.WorkspaceSecrets[workspaceSlug] {
		names[name] = true
	}
	return names
}

// reveal returns secrets of the settings in clear.
func reveal(hidden map[string]map[string]settings.Secret) map[string]map[string]string {
	all := make(map[string]map[string]string, len(hidden))
	for slug, values := range hidden {
		all[slug] = make(map[string]string, len(values))
		for name, value := range values {
			all[slug][name] = value.Reveal()
		}
	}
	return all
}

func (n *Node) openFiles(context.Context) (err error) {
	n.workspaces.files, err = files.New(files.Options{
		Engine: n.engine, Store: n.store.Log, Blobs: n.store.Blobs, Vault: n.workspaces.vault, Now: time.Now, Host: n.host("workspaces"),
		Settings: func() files.Settings {
			w := n.config().Workspaces
			return files.Settings{Allowed: w.UploadsAllowed, Forbidden: w.UploadsForbidden, Public: w.UploadsVisibility == "public", MaxTotal: n.config().HTTP.FilesMaxSize}
		},
		Before: n.workspaces.library.TotalFileSize,
	})
	return err
}

func (n *Node) openOperations(ctx context.Context) error {
	bucket, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "OPERATIONS", TTL: streams.OperationLease})
	if err != nil {
		return err
	}
	n.workspaces.operations = &operations.Runner{
		Engine: n.engine, Workspaces: n.workspaces.workspaces, Leases: streams.OperationLeases{Bucket: bucket, Log: n.log}, Blobs: n.store.Blobs, Log: n.log,
		Timeout: func() time.Duration { return n.config().Workspaces.OperationTimeout },
	}
	n.closeWith("operations", n.workspaces.operations.Close)
	return nil
}

func (n *Node) openVersioning(context.Context) error {
	s := n.workspaces
	s.versioning = &versioning.Versioning{
		Workspaces: s.workspaces, Content: s.content, Repositories: s.repositories, Operations: s.operations, Blobs: n.store.Blobs, Log: n.store.Log,
		People: s.library, Revisions: s.library, Apps: s.library, Git: n.gitOptions,
		Committer: func() (name, email string) { return n.config().Git.CommitterName, n.config().Git.CommitterEmail },
		Host: func() string {
			if u, err := url.Parse(n.config().HTTP.APIURL); err == nil && u.Hostname() != "" {
				return u.Hostname()
			}
			return "localhost"
		},
		Checks: n.runChecks,
	}
	for kind, settle := range s.versioning.Settlers() {
		s.operations.RegisterSettler(kind, settle)
	}
	return nil
}

func (n *Node) openBulk(context.Context) error {
	s := n.workspaces
	s.importRights = bulk.NewLateRights()
	s.bulk = &bulk.Runs{
		Workspaces: s.workspaces, Repositories: s.repositories, Versioning: s.versioning, Operations: s.operations, Known: s.library, Rights: s.importRights,
		Concurrency: func() int { return n.config().Bulk.Concurrency }, Limit: func() int { return archive.Usual.Workspaces },
	}
	for kind, settle := range s.bulk.Settlers() {
		s.operations.RegisterSettler(kind, settle)
	}
	return nil
}

// importAtStart imports what the settings name, once the node serves.
func (n *Node) importAtStart(ctx context.Context) error {
	c := n.config()
	if len(c.Bulk.StartupGroups) == 0 || !slices.Contains(c.Core.Roles, "bulk") {
		return nil
	}
	failures := commands.Failures{Engine: n.engine, Log: n.log}
	return n.workspaces.bulk.AtStart(ctx, bulk.Startup{
		RepositoryID: c.Bulk.StartupRepo, Groups: c.Bulk.StartupGroups, Wait: c.Bulk.StartupWait, Pause: c.Bulk.StartupPause,
		Ready: n.isReady, Log: n.log,
		Failed: func(ctx context.Context, why *domain.Error) { failures.RecordFailure(ctx, domain.Platform, why) },
	})
}

// platformRepositories returns the repositories of the settings, by id.
func platformRepositories(all map[string]settings.PlatformRepository) (list []repositories.Repository, err error) {
	for _, s := range all {
		one, err := platformRepository(s)
		if err != nil {
			return nil, fmt.Errorf("platform repository %s: %w", s.ID, err)
		}
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b repositories.Repository) int { return strings.Compare(a.ID, b.ID) })
	return list, nil
}

func platformRepository(s settings.PlatformRepository) (repositories.Repository, error) {
	one := repositories.Repository{ID: s.ID, Name: s.Name, Type: s.Type, Mode: s.Mode, Platform: true, Checks: s.Checks == "required"}
	if s.Type == repositories.Filesystem {
		one.Dir = filepath.Clean(s.Dirpath)
		one.Address = "file://" + one.Dir
		return one, nil
	}
	authorities, err := readText(s.CAFile)
	if err != nil {
		return one, err
	}
	hosts, err := readText(s.KnownHostsFile)
	if err != nil {
		return one, err
	}
	one.Remote = gitsync.Remote{
		URL: s.URL.Reveal(), User: s.Auth.User.Reveal(), Password: s.Auth.Password.Reveal(), SSHKey: s.Auth.SSHKey.Reveal(), Passphrase: s.Auth.Passphrase.Reveal(),
		CABundle: authorities, KnownHosts: hosts, RedirectHosts: s.RedirectHosts, Exempt: true,
	}.Normalised()
	one.Address, one.Branch, one.Root = one.Remote.URL, s.Branch, s.Dirpath
	return one, one.Remote.Check(true)
}

// readText returns the text of a file; "" is no file. An empty file is a mistake.
func readText(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := os.ReadFile(file) //nolint:gosec // the operator names it
	if err == nil && len(text) == 0 {
		err = fmt.Errorf("%s is empty", file)
	}
	return string(text), err
}

// gitOptions returns the options of Git as the settings are now.
func (n *Node) gitOptions() gitsync.Options {
	c := n.config()
	return gitsync.Options{
		Dial: n.egress.Dial, Roots: n.egress.Roots(), AllowHTTP: slices.Contains(c.Git.AllowedSchemes, "http"),
		KnownHostsFile: c.Git.KnownHostsFile, Cache: filepath.Join(c.Core.DataDir, "git"),
		Limits: gitsync.Limits{FetchBytes: c.Git.MaxFetch}, Timeouts: gitsync.Timeouts{Exchange: c.Git.RemoteTimeout},
	}
}
