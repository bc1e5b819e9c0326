package operation

import "svc/domain"

// Count is how far an operation is that goes through many small things.
type Count struct {
	Current int `json:"current"`
	Total   int `json:"total"`
}

// Advance says how far an operation is. It is refused when somebody else goes on with
// the operation: Epoch is that of who reports.
type Advance struct {
	Epoch uint64
	Count Count
}

func (Advance) operationCommand() {}

// Advanced says how far an operation is.
type Advanced struct {
	ID string `json:"operationId"`
	Count
}

// EventType implements domain.Event.
func (Advanced) EventType() string { return "workspaces.operations.advanced" }

func advance(s State, c Advance) ([]domain.Event, error) {
	if err := s.heldBy(c.Epoch); err != nil {
		return nil, err
	}
	if s.Count != nil && *s.Count == c.Count {
		return nil, nil
	}
	return []domain.Event{Advanced{ID: s.ID, Count: c.Count}}, nil
}
