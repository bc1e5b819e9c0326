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
// there were. Those that were cancelled before are not cancelled again, and those that the
// end of the workspace started come to their own.
func (r *Runtime) Evict(gone func(workspaceID string) (bool, error)) (cancelled int, err error) {
	for workspaceID, runs := range r.trees.workspaces() {
		over, err := gone(workspaceID)
		if err != nil {
			return cancelled, err
		}
		for _, correlationID := range runs {
			if over {
				cancelled += r.trees.cancel(workspaceID, correlationID, func(t *tree) bool { return !t.start.House.Workspace.Gone })
			}
		}
	}
	return cancelled, nil
}

// Erased cancels all trees on this node of a workspace of which nothing is kept any more.
func (r *Runtime) Erased(workspaceID string) {
	for _, correlationID := range r.trees.workspaces()[workspaceID] {
		r.Cancel(workspaceID, correlationID)
	}
}
