package runtime

import (
	"svc/commands/fair"
	"svc/domain/automation/machine"
)

// advance lets the machine run as far as it can, or for as long as a turn is, in a lane.
func (t *tree) advance() (machine.Turn, error) {
	if err := t.rt.lanes.Enter(t.ctx, t.workspaceID()); err != nil {
		return machine.Turn{}, err
	}
	t.inLane = true
	defer func() {
		if t.inLane {
			t.inLane = false
			t.rt.lanes.Leave(t.workspaceID())
		}
	}()
	t.recorder.Turn()
	t.world.known = nil
	return t.machine.Run(turnLength), nil
}

// aside does work that waits for something else than the machine: others have the lane
// meanwhile.
func (t *tree) aside(work func() error) error {
	if !t.inLane {
		return work()
	}
	t.inLane = false
	t.rt.lanes.Leave(t.workspaceID())
	err := work()
	if err := t.rt.lanes.Enter(t.ctx, t.workspaceID()); err != nil {
		return err
	}
	t.inLane = true
	return err
}

// lanesEach is how many trees take their turns at once for each core, since a turn may read
// from disk, and shareEach how many of them may be those of one workspace.
const (
	lanesEach = 4
	shareEach = 3
)

// newLanes returns lanes for so many cores. A workspace can keep all cores busy, and still
// leaves lanes to everybody else: one instruction may compute for seconds.
func newLanes(cores int) *fair.Places {
	return fair.New(lanesEach*cores, shareEach*cores)
}
