package node

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"svc/cmd/settings"
	"svc/commands/gitsync"
	"svc/commands/repositories"
)

// repositories saves and finds those of workspaces.
func (n *Node) repositories() (*repositories.Repositories, error) {
	bulk := n.config().Bulk
	shared, err := platformRepositories(bulk.Repositories)
	return &repositories.Repositories{
		Workspaces: n.places.workspaces, Secrets: n.secrets(), Vault: n.places.vault, Git: n.gitOptions,
		Platform: func() []repositories.Repository { return shared },
		Groups:   func() map[string][]string { return bulk.Groups },
	}, err
}

// platformRepositories are those of the settings, by id.
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
	one := repositories.Repository{ID: s.ID, Name: s.Name, Type: s.Type, Mode: s.Mode, Platform: true}
	if s.Type == repositories.Filesystem {
		one.Dir = filepath.Clean(s.Dirpath)
		one.Address = "file://" + one.Dir
		return one, nil
	}
	authorities, err := textOf(s.CAFile)
	if err != nil {
		return one, err
	}
	hosts, err := textOf(s.KnownHostsFile)
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

// textOf returns what is in a file; "" is none. One with nothing in it is a mistake.
func textOf(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := os.ReadFile(file) //nolint:gosec // the operator names it
	if err == nil && len(text) == 0 {
		err = fmt.Errorf("%s is empty", file)
	}
	return string(text), err
}

// gitOptions are those of this node, as its settings are now.
func (n *Node) gitOptions() gitsync.Options {
	c := n.config()
	return gitsync.Options{
		Dial: n.egress.Dial, Roots: n.egress.Roots(), AllowHTTP: slices.Contains(c.Git.AllowedSchemes, "http"),
		KnownHostsFile: c.Git.KnownHostsFile, Cache: filepath.Join(c.Core.DataDir, "git"),
		Limits: gitsync.Limits{FetchBytes: c.Git.MaxFetch}, Timeouts: gitsync.Timeouts{Exchange: c.Git.RemoteTimeout},
	}
}
