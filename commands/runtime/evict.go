package runtime

import "strings"

// byWorkspace lists the runs that have trees on this node, by workspace.
func (g *runRegistry) byWorkspace() map[string][]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := map[string][]string{}
	for key := range g.byCorrelation {
		workspaceID, correlationID, _ := strings.Cut(key, "\x00")
		all[workspaceID] = append(all[workspaceID], correlationID)
	}
	return all
}

// CancelDeleted cancels the trees on this node whose workspace is gone, and returns how many
// there were. Those that were cancelled before are not cancelled again, and those that the
// end of the workspace started come to their own.
func (r *Runtime) CancelDeleted(gone func(workspaceID string) (bool, error)) (cancelled int, err error) {
	for workspaceID, runs := range r.runs.byWorkspace() {
		over, err := gone(workspaceID)
		if err != nil {
			return cancelled, err
		}
		for _, correlationID := range runs {
			if over {
				cancelled += r.runs.cancel(workspaceID, correlationID, func(t *run) bool { return !t.start.ProgramSet.Workspace.Deleted })
			}
		}
	}
	return cancelled, nil
}

// CancelWorkspace cancels all trees on this node of a workspace of which nothing is kept any more.
func (r *Runtime) CancelWorkspace(workspaceID string) {
	for _, correlationID := range r.runs.byWorkspace()[workspaceID] {
		r.Cancel(workspaceID, correlationID)
	}
}
