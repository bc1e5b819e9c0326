package settings

import "time"

// Workspaces is workspaces and their versioning.
type Workspaces struct {
	LockTimeout         time.Duration
	OperationTimeout    time.Duration
	OperationsRetention time.Duration
	UploadsAllowed      []string // media types; empty allows all
	UploadsForbidden    []string
	UploadsVisibility   string // private or public
}

// Bulk is platform repositories, groups and what runs over many workspaces.
type Bulk struct {
	Groups        map[string][]string           // group to labels, both sources united
	Repositories  map[string]PlatformRepository // by id
	StartupGroups []string                      // empty imports nothing at start
	StartupRepo   string
	StartupWait   time.Duration
	StartupPause  time.Duration
	Concurrency   int
}

// Git is how git remotes are spoken to.
type Git struct {
	AllowedSchemes []string
	KnownHostsFile string
	CommitterName  string
	CommitterEmail string
	RemoteTimeout  time.Duration
	MaxFetch       int64 // bytes
}

func workspacesTable(c *Workspaces) []Setting {
	return []Setting{
		{Name: "WORKSPACE_WRITE_LOCK_TIMEOUT_MINUTES", Default: "30", Unit: "min", Meaning: "all locks but `merge_conflict`", value: duration(&c.LockTimeout, time.Minute, time.Second, 30*day)},
		{Name: "VERSIONING_OPERATION_TIMEOUT_MINUTES", Default: "20", Unit: "min", Meaning: "one push, pull, import", value: duration(&c.OperationTimeout, time.Minute, time.Second, 30*day)},
		{Name: "OPERATIONS_RETENTION_DAYS", Default: "90", Unit: "d", Meaning: "operation records", value: days(&c.OperationsRetention)},
		{Name: "UPLOADS_ALLOWED_MIMETYPES", Default: "all", Unit: "list", Meaning: "`type/*` patterns", marks: live, value: mimetypes(&c.UploadsAllowed, "all")},
		{Name: "UPLOADS_FORBIDDEN_MIMETYPES", Default: "none", Unit: "list", Meaning: "`type/*` patterns", marks: live, value: mimetypes(&c.UploadsForbidden, "none")},
		{Name: "UPLOADS_DEFAULT_VISIBILITY", Default: "private", Unit: "private, public", Meaning: "of new files", value: oneOf(&c.UploadsVisibility, "private", "public")},
	}
}

func bulkTable(c *Bulk) []Setting {
	return []Setting{
		{Name: "WORKSPACE_GROUPS", Default: "-", Unit: "JSON or text", Meaning: "groups to labels: `{\"base\":[\"core\"]}` or `base=core+shared,extra=addon`", value: groupsOf(&c.Groups)},
		{Name: "WORKSPACES_GROUP_{group}_LABELS", Default: "-", Unit: "list", Meaning: "same, one per group; united", family: groupLabels(&c.Groups)},
		{Name: "WORKSPACES_STORAGE_GIT_PLATFORM_{repoId}_{FIELD}", Default: "-", Meaning: "platform repositories; AUTH_* are secret", family: platformFamily(&c.Repositories)},
		{Name: "STARTUP_IMPORT_GROUPS", Default: "-", Unit: "list", Meaning: "import at start; both or none", value: listOf(&c.StartupGroups, "group names", groupPattern.MatchString)},
		{Name: "STARTUP_IMPORT_REPOSITORY", Default: "-", Unit: "id", Meaning: "import at start; both or none", value: matching(&c.StartupRepo, repositoryID, "the id of a platform repository")},
		{Name: "STARTUP_IMPORT_WAIT_SECONDS", Default: "300", Unit: "s", Meaning: "readiness wait", value: seconds(&c.StartupWait, 0, day)},
		{Name: "STARTUP_IMPORT_PAUSE_SECONDS", Default: "30", Unit: "s", Meaning: "pause between groups", value: seconds(&c.StartupPause, 0, day)},
		{Name: "BULK_CONCURRENCY", Default: "1", Unit: "workspaces", Meaning: "1 = one after another; more: independent workspaces at once", value: number(&c.Concurrency, 1, 256)},
	}
}

func gitTable(c *Git) []Setting {
	return []Setting{
		{Name: "GIT_ALLOWED_SCHEMES", Default: "https,ssh", Unit: "list", Meaning: "may add http; workspace repositories", value: listOf(&c.AllowedSchemes, "https, ssh, http", func(s string) bool { return s == "https" || s == "ssh" || s == "http" })},
		{Name: "GIT_KNOWN_HOSTS_FILE", Default: "-", Unit: "path", Meaning: "SSH host keys", marks: perNode, value: path(&c.KnownHostsFile)},
		{Name: "GIT_COMMITTER_NAME", Default: "svc", Unit: "text", Meaning: "of our commits", value: matching(&c.CommitterName, `[^<>\x00-\x1f]+`, "a name on one line without < and >")},
		{Name: "GIT_COMMITTER_EMAIL", Default: "`noreply@{API host}`", Unit: "text", Meaning: "of our commits", derive: defaultCommitterEmail, value: matching(&c.CommitterEmail, `[^<>\s@]+@[^<>\s@]+`, "a mail address")},
		{Name: "GIT_REMOTE_TIMEOUT_SECONDS", Default: "300", Unit: "s", Meaning: "one exchange", value: seconds(&c.RemoteTimeout, time.Second, day)},
		{Name: "GIT_MAX_FETCH_MB", Default: "512", Unit: "MB", Meaning: "largest fetch", value: megabytes(&c.MaxFetch)},
	}
}
