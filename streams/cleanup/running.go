package cleanup

import (
	"cmp"
	"context"
	"encoding/json"

	"svc/commands"
	"svc/domain"
)

// running says which run has the lease, for who is turned away.
type running struct {
	Job string `json:"job"`
	By  string `json:"by"` // a user, or the platform itself
	At  string `json:"at"`
}

// runningSpace is where that is kept: there is one at a time.
const runningSpace = "running"

// enter notes that a run has the lease.
func (r *run) enter(ctx context.Context, job string) error {
	who := cmp.Or(commands.RequestFrom(ctx).Meta.UserID, "internal")
	body, err := json.Marshal(running{Job: job, By: who, At: r.out.StartedAt})
	if err != nil {
		return err
	}
	_, err = r.Notes.Put(ctx, runningSpace+"/now", body)
	return err
}

// turnAway refuses a run because of another.
func (j *Jobs) turnAway(ctx context.Context) error {
	refusal := domain.Refuse(domain.CodeLocked, "a cleanup is running").Reason("cleanup")
	notes, err := j.Notes.List(ctx, runningSpace)
	var now running
	if err != nil || len(notes) == 0 || json.Unmarshal(notes[0], &now) != nil {
		return refusal // who it is matters less than that it is
	}
	return refusal.With("job", now.Job).With("lockedBy", now.By).With("lockedAt", now.At)
}
