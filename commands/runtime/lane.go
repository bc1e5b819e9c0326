package runtime

import (
	"svc/commands/fair"
	"svc/domain/automation/machine"
)

// computeTurn lets the machine run as far as it can, or for as long as a turn is, in a lane.
func (t *run) computeTurn() (machine.Turn, error) {
	if err := t.rt.turnSlots.Enter(t.ctx, t.workspaceID()); err != nil {
		return machine.Turn{}, err
	}
	t.hasTurnSlot = true
	defer func() {
		if t.hasTurnSlot {
			t.hasTurnSlot = false
			t.rt.turnSlots.Leave(t.workspaceID())
		}
	}()
	t.recorder.Turn()
	t.world.registryObject = nil
	return t.machine.Run(turnLength), nil
}

// withoutTurnSlot does work that waits for something else than the machine: others have the lane
// meanwhile.
func (t *run) withoutTurnSlot(work func() error) error {
	if !t.hasTurnSlot {
		return work()
	}
	t.hasTurnSlot = false
	t.rt.turnSlots.Leave(t.workspaceID())
	err := work()
	if err := t.rt.turnSlots.Enter(t.ctx, t.workspaceID()); err != nil {
		return err
	}
	t.hasTurnSlot = true
	return err
}

// slotsPerCore is how many trees take their turns at once for each core, since a turn may read
// from disk, and workspaceSlotsPerCore how many of them may be those of one workspace.
const (
	slotsPerCore          = 4
	workspaceSlotsPerCore = 3
)

// newTurnSlots returns lanes for so many cores. A workspace can keep all cores busy, and still
// leaves lanes to everybody else: one instruction may compute for seconds.
func newTurnSlots(cores int) *fair.Places {
	return fair.New(slotsPerCore*cores, workspaceSlotsPerCore*cores)
}
