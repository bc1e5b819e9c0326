package gitsync

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"

	"svc/domain"
)

// Update moves one ref of the remote.
type Update struct {
	Name string // full, such as refs/heads/main
	Old  string // what it must be at; "": it must not exist
	New  string // "": delete it
}

// Outcome is the outcome of an Update.
type Outcome int

// The outcomes. It is Unknown when the connection was lost after sending: the ref may have
// been moved, now or in a moment.
const (
	Unknown Outcome = iota
	Accepted
	Refused
)

// String implements fmt.Stringer.
func (o Outcome) String() string { return [...]string{"unknown", "accepted", "refused"}[o] }

// Result is the result of one Update.
type Result struct {
	Name    string
	Outcome Outcome
	Text    string // the cleaned message of the remote when it refused; why it is unknown
}

// Push sends updates in one request, atomically where the remote can do that. With an error
// nothing was sent, or the remote has refused everything. When a ref is not at its old id,
// nothing is sent.
func (s *Session) Push(ctx context.Context, updates []Update) ([]Result, error) {
	for _, u := range updates {
		if err := plumbing.ReferenceName(u.Name).Validate(); err != nil {
			return nil, domain.Refuse(domain.CodeValidation, "%q is no name of a ref", u.Name).Reason("invalid_ref")
		}
	}
	inner, cancel := context.WithTimeout(ctx, s.options.Timeouts.Exchange)
	defer cancel()
	c, err := s.wire.begin(inner, receivePack)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	defer c.close()
	if stale := staleResults(updates, c.advertised()); stale != nil {
		return stale, nil
	}
	question, err := s.pushRequest(c.advertised(), updates)
	if err != nil {
		return nil, err
	}
	sent := false
	answer, err := c.exchange(inner, question, func() { sent = true })
	if err != nil {
		if _, definite := errors.AsType[*domain.Error](err); definite || !sent {
			return nil, s.failure(ctx, err)
		}
		return s.unknownResults(ctx, updates, err), nil
	}
	defer answer.Close()
	report, words, err := readReport(answer, c.advertised())
	if inner.Err() != nil {
		err = inner.Err()
	} else if err != nil {
		err = readFailure(err, c.lost(), "its report cannot be read")
	}
	return s.resultsOf(ctx, updates, report, words, err), nil
}

// staleResults refuses all updates when one ref is not at its old id; nil otherwise.
func staleResults(updates []Update, adv *packp.AdvRefs) []Result {
	stale := false
	results := make([]Result, len(updates))
	for i, u := range updates {
		results[i] = Result{Name: u.Name, Outcome: Refused, Text: "not sent, because another ref has moved"}
		at, exists := adv.References[u.Name]
		if exists != (u.Old != "") || exists && at.String() != u.Old {
			stale = true
			results[i].Text = "the ref has moved"
			if !exists {
				results[i].Text = "the ref is gone"
			}
		}
	}
	if !stale {
		return nil
	}
	return results
}

// pushRequest encodes the updates with their old ids, and the pack of new objects.
func (s *Session) pushRequest(adv *packp.AdvRefs, updates []Update) ([]byte, error) {
	ask := packp.NewReferenceUpdateRequestFromCapabilities(adv.Capabilities)
	wanted := []capability.Capability{capability.Sideband64k}
	if len(updates) > 1 {
		wanted = append(wanted, capability.Atomic)
	}
	var tips []plumbing.Hash
	for _, u := range updates {
		ask.Commands = append(ask.Commands, &packp.Command{
			Name: plumbing.ReferenceName(u.Name), Old: plumbing.NewHash(u.Old), New: plumbing.NewHash(u.New),
		})
		if u.New == "" {
			wanted = append(wanted, capability.DeleteRefs)
			continue
		}
		tips = append(tips, plumbing.NewHash(u.New))
	}
	for _, c := range wanted {
		if adv.Capabilities.Supports(c) {
			_ = ask.Capabilities.Set(c) // it takes no value
		}
	}
	var b bytes.Buffer
	if err := ask.Encode(&b); err != nil {
		return nil, fmt.Errorf("push: %w", err)
	}
	if len(tips) == 0 {
		return b.Bytes(), nil
	}
	theirs := map[plumbing.Hash]bool{}
	for _, id := range adv.References {
		theirs[id] = true
	}
	pack, err := s.objects.packFor(tips, theirs)
	return append(b.Bytes(), pack...), err
}

// readReport reads the status of each ref. Statuses that were read before the connection
// was lost are valid.
func readReport(answer io.Reader, adv *packp.AdvRefs) (*packp.ReportStatus, string, error) {
	var words textBuffer
	bounded := io.LimitReader(answer, 4<<20)
	r := bounded
	if adv.Capabilities.Supports(capability.Sideband64k) {
		bands := sideband.NewDemuxer(sideband.Sideband64k, bounded)
		bands.Progress = &words
		r = bands
	}
	report := packp.NewReportStatus()
	if !adv.Capabilities.Supports(capability.ReportStatus) {
		return report, "", errors.New("the remote does not report")
	}
	err := report.Decode(r)
	return report, words.String(), err
}

// resultsOf returns the results by the report; Unknown where it says nothing.
func (s *Session) resultsOf(ctx context.Context, updates []Update, report *packp.ReportStatus, words string, err error) []Result {
	statuses := map[string]string{}
	for _, status := range report.CommandStatuses {
		statuses[status.ReferenceName.String()] = status.Status
	}
	results := s.unknownResults(ctx, updates, err)
	unpacked := report.UnpackStatus
	for i, u := range updates {
		switch status, ok := statuses[u.Name]; {
		case ok && status == "ok":
			results[i] = Result{Name: u.Name, Outcome: Accepted}
		case ok:
			results[i] = Result{Name: u.Name, Outcome: Refused, Text: s.clean(status + "\n" + words)}
		case unpacked != "" && unpacked != "ok":
			results[i] = Result{Name: u.Name, Outcome: Refused, Text: s.clean(unpacked + "\n" + words)}
		}
	}
	return results
}

func (s *Session) unknownResults(ctx context.Context, updates []Update, err error) []Result {
	text := "the remote did not say"
	if err = s.failure(ctx, err); err != nil {
		text = s.clean(err.Error())
	}
	results := make([]Result, len(updates))
	for i, u := range updates {
		results[i] = Result{Name: u.Name, Text: text}
	}
	return results
}
