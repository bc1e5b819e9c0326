package node

import "svc/commands/secrets"

// openSecrets opens the secrets of workspaces, stored ones and those of the settings: for
// automations and for repositories alike.
func (n *Node) openSecrets() {
	n.running.secrets = newSecretValues(n.models, n.places.vault, func() map[string]map[string]string {
		return revealed(n.config().Runtime.WorkspaceSecrets)
	})
}

// secrets resolves references to secrets of workspaces.
func (n *Node) secrets() secrets.Secrets { return secrets.Secrets{Values: n.running.secrets} }

// secretDefaults returns the names of the secrets that the settings give a workspace.
func (n *Node) secretDefaults(workspaceSlug string) map[string]bool {
	names := map[string]bool{}
	for name := range n.config().Runtime.WorkspaceSecrets[workspaceSlug] {
		names[name] = true
	}
	return names
}
