package runtime

import "svc/commands/fair"

// turnSlot is the slot in which a run computes, while it does.
type turnSlot struct {
	*runCore
	held bool
}

func (s *turnSlot) acquire() error {
	err := s.rt.turnSlots.Acquire(s.ctx, s.workspaceID())
	s.held = err == nil
	return err
}

func (s *turnSlot) release() {
	if s.held {
		s.held = false
		s.rt.turnSlots.Release(s.workspaceID())
	}
}

// without does work that waits for I/O. Other runs can use the turn slot meanwhile.
func (s *turnSlot) without(work func() error) error {
	if !s.held {
		return work()
	}
	s.release()
	err := work()
	if err := s.acquire(); err != nil {
		return err
	}
	return err
}

// slotsPerCore is how many trees take their turns at once for each core, since a turn may read
// from disk, and workspaceSlotsPerCore how many of them may be those of one workspace.
const (
	slotsPerCore          = 4
	workspaceSlotsPerCore = 3
)

// newTurnSlots returns turn slots for a number of cores. One workspace can keep all cores busy
// and still leaves slots to others: one instruction may compute for seconds.
func newTurnSlots(cores int) *fair.Slots {
	return fair.New(slotsPerCore*cores, workspaceSlotsPerCore*cores)
}
