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
