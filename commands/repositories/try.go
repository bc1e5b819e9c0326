package repositories

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"svc/commands/archive"
	"svc/commands/filesync"
	"svc/commands/gitsync"
	"svc/domain"
	"svc/domain/workspace"
)

// Report is what came of connecting to a repository.
type Report struct {
	Reachable    bool // it answered, and let us in
	Empty        bool
	Branches     []string // sorted
	TargetExists bool     // its branch is among them
	FinalURL     string   // after redirects, without credentials
	HostKey      *gitsync.HostKey
	Error        *domain.Error // why it is not reachable, and what to do about it
}

// trying bounds how long a remote may take to answer a test.
const trying = 15 * time.Second

// Test connects to a repository and changes nothing. What is wrong at the remote
// is in the report; an error is what Find refuses.
func (r *Repositories) Test(ctx context.Context, state workspace.State, id string) (Report, error) {
	repository, err := r.Find(ctx, state, id)
	if err != nil {
		return Report{}, err
	}
	if repository.Type == Filesystem {
		return repository.testDirectory(ctx)
	}
	options := r.Git()
	options.Cache, options.Timeouts.Exchange = "", trying // nothing is fetched
	session, err := gitsync.Open(repository.Remote, options)
	if err != nil {
		return failed(Report{}, err)
	}
	defer session.Close()
	refs, err := session.ListRefs(ctx)
	report := Report{FinalURL: repository.shown(session.FinalURL()), HostKey: session.HostKey(), Branches: []string{}}
	if err != nil {
		return failed(report, err)
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

// testDirectory opens a directory and looks for that of the workspace, which stands
// for the branch.
func (r Repository) testDirectory(ctx context.Context) (Report, error) {
	report := Report{FinalURL: r.Address, Branches: []string{}}
	dir, err := filesync.Open(r.Dir, archive.Usual)
	if err != nil {
		return failed(report, err)
	}
	defer func() { _ = dir.Close() }() // it was only read
	names, err := dir.Directories(ctx)
	if err != nil {
		return failed(report, err)
	}
	report.Reachable, report.Empty, report.TargetExists = true, len(names) == 0, slices.Contains(names, r.Root)
	return report, nil
}

// shown is an address to be told: one that refers to secrets is told as it is
// written.
func (r Repository) shown(address string) string {
	if refers(r.Address) {
		return r.Address
	}
	return address
}

// failed puts a refusal into a report; any other error is ours.
func failed(report Report, err error) (Report, error) {
	refusal, ok := errors.AsType[*domain.Error](err)
	if !ok {
		return Report{}, err
	}
	reason, _ := refusal.Details["reason"].(string)
	told := domain.Error{Code: refusal.Code, Message: refusal.Message, Details: refusal.Details}
	if next := advice[reason]; next != "" {
		told.Message += ". " + next
	}
	if line, _ := refusal.Details["line"].(string); line != "" {
		told.Message += ": " + line
	}
	report.Error, report.Branches = &told, []string{}
	return report, nil
}

// advice is what to do about a failure, by its reason.
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
