package file

import "svc/domain"

// TotalDecider is the rule of how many bytes the files of a workspace have together.
// The total is an aggregate of its own, recorded with each change of a file: the log
// decides whether another file has room, whichever nodes ask at the same time.
var TotalDecider = domain.Decider[Total, TotalCommand]{Kind: "filetotal", Version: 1, Decide: decideTotal, Evolve: evolveTotal}

// TotalStream returns the stream of the total of a workspace.
func TotalStream(workspaceID string) domain.StreamID {
	return TotalDecider.Stream(workspaceID, workspaceID)
}

// Total is how many bytes the files of a workspace have together.
type Total struct {
	Bytes   int64 `json:"bytes"`
	Started bool  `json:"started,omitempty"` // false: nothing was counted yet
}

// TotalCommand is what can be asked of a total.
type TotalCommand interface{ totalCommand() }

type (
	// LookTotal changes nothing: it only loads the state.
	LookTotal struct{}
	// Count adds Bytes, which may be 0 or below: an upload is recorded with its count,
	// also that of an empty file. What grows must fit into Limit; 0: there
	// is none. Before is the total of the files that were uploaded before totals were
	// counted; it is used for the first count.
	Count struct{ Bytes, Limit, Before int64 }
)

func (LookTotal) totalCommand() {}
func (Count) totalCommand()     {}

// Counted says how many bytes the files of a workspace have now.
type Counted struct {
	Bytes int64 `json:"bytes"`
}

// EventType implements domain.Event.
func (Counted) EventType() string { return "workspaces.files.counted" }

func decideTotal(s Total, cmd TotalCommand) ([]domain.Event, error) {
	switch c := cmd.(type) {
	case LookTotal:
		return nil, nil
	case Count:
		used := s.Bytes
		if !s.Started {
			used = c.Before
		}
		if c.Bytes > 0 && c.Limit > 0 && c.Bytes > c.Limit-used {
			return nil, domain.Refuse(domain.CodeQuota, "the files of this workspace have no room for %d more bytes: %d of %d are used", c.Bytes, used, c.Limit).
				With("limit", c.Limit).With("used", used).With("size", c.Bytes).With("retryAfter", quotaRetry)
		}
		return []domain.Event{Counted{Bytes: max(0, used+c.Bytes)}}, nil
	default:
		return nil, domain.Refuse(domain.CodeInternal, "file: unknown command %T", cmd)
	}
}

// quotaRetry is after how many seconds a refused upload may be tried again: somebody
// has to delete files first.
const quotaRetry = 60

func evolveTotal(s Total, ev domain.Event) Total {
	if e, ok := ev.(Counted); ok {
		return Total{Bytes: e.Bytes, Started: true}
	}
	return s
}
