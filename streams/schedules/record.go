package schedules

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// record is what is registered of a workspace. It is kept compressed: a workspace may
// have thousands of schedules.
type record struct {
	WorkspaceID string      `json:"workspaceId"`
	At          uint64      `json:"at"` // changes up to this sequence of the state log are in it
	Automations []scheduled `json:"automations,omitempty"`
}

// scheduled is an automation that has schedules.
type scheduled struct {
	Name  string       `json:"name"`  // in the workspace
	Saved uint64       `json:"saved"` // the change of the document that brought it here: its own, or that of its app instance
	Crons []registered `json:"crons"`
}

// registered is a schedule.
type registered struct {
	Cron  string `json:"cron"`
	Since int64  `json:"since"` // when it was saved, in milliseconds
}

func (r registered) since() time.Time { return time.UnixMilli(r.Since) }

func recordKey(workspaceID string) string {
	return "workspace/" + strconv.Itoa(slotOf(workspaceID)) + "/" + workspaceID
}

func (r record) encode() ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := json.NewEncoder(z).Encode(r); err != nil {
		return nil, err
	}
	err := z.Close()
	return b.Bytes(), err
}

func readRecord(value []byte) (r record, err error) {
	z, err := gzip.NewReader(bytes.NewReader(value))
	if err == nil {
		err = json.NewDecoder(z).Decode(&r)
	}
	if err != nil {
		return r, fmt.Errorf("what is registered of a workspace does not read: %w", err)
	}
	return r, nil
}

// byName returns what is registered of each automation.
func (r record) byName() map[string]*scheduled {
	found := make(map[string]*scheduled, len(r.Automations))
	for i := range r.Automations {
		found[r.Automations[i].Name] = &r.Automations[i]
	}
	return found
}

// has returns a schedule that is registered; ok is false when it is not.
func (a *scheduled) has(text string) (r registered, ok bool) {
	if a == nil {
		return r, false
	}
	for _, c := range a.Crons {
		if c.Cron == text {
			return c, true
		}
	}
	return r, false
}

// crons are the schedules as they are written.
func (a *scheduled) crons() []string {
	list := []string{}
	if a != nil {
		for _, c := range a.Crons {
			list = append(list, c.Cron)
		}
	}
	return list
}
