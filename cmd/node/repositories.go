package node

import (
	"path/filepath"
	"slices"

	"svc/commands/gitsync"
	"svc/commands/repositories"
)

// repositories saves and finds those of workspaces.
func (n *Node) repositories() *repositories.Repositories {
	return &repositories.Repositories{
		Workspaces: n.places.workspaces, Secrets: n.secrets(), Vault: n.places.vault, Git: n.gitOptions,
	}
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
