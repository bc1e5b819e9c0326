package api

import (
	"net/http"

	"svc/http/gateway"
	"svc/projections"
)

// cancelRun handles POST …/runs/{correlationId}/cancel: what is under way of a run is
// stopped at its next effect, on whichever node it is.
func cancelRun(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		workspace, id := workspaceID(r), gateway.Var(r, "correlationId")
		programSet, err := d.programSet(r)
		if err != nil {
			return nil, err
		}
		var open []projections.UnfinishedTree
		var run projections.Run
		known := false
		err = d.ReadModel.View(func(rd projections.Reader) (err error) {
			if run, known, err = (projections.Runs{}).Get(rd, workspace, id); err == nil && known {
				open, err = projections.Runs{}.Open(rd, workspace, id, maxRunEvents)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if !known {
			return nil, noRun(id)
		}
		rights := gateway.GrantFrom(r.Context()).Rights
		if err := mayTestRun(programSet, run.Automation, rights); err != nil {
			return nil, err
		}
		for _, t := range open { // what it triggered ends with it
			if err := mayTestRun(programSet, t.Automation, rights); err != nil {
				return nil, err
			}
		}
		if len(open) > 0 {
			if err := d.CancelRun(workspace, id); err != nil {
				return nil, err
			}
		}
		return map[string]any{"correlationId": id, "cancelled": len(open)}, nil
	}
}
