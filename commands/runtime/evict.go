package runtime

import "strings"

// workspaces lists the runs that have trees on this node, by workspace.
func (g *register) workspaces() map[string][]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := map[string][]string{}
	for key := range g.runs {
		workspaceID, correlationID, _ := strings.Cut(key, "\x00")
		all[workspaceID] = append(all[workspaceID], correlationID)
	}
	return all
}

// Evict cancels the trees on this node whose workspace is gone, and returns how many
// there were. Those that were cancelled before are not cancelled again.
func (r *Runtime) Evict(gone func(workspaceID string) (bool, error)) (cancelled int, err error) {
	for workspaceID, runs := range r.trees.workspaces() {
		over, err := gone(workspaceID)
		if err != nil {
			return cancelled, err
		}
		for _, correlationID := range runs {
			if over {
				cancelled += r.Cancel(workspaceID, correlationID)
			}
		}
	}
	return cancelled, nil
}
