package bulk

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"svc/commands"
	"svc/commands/archive"
	"svc/domain"
	"svc/domain/operation"
)

// The codes of warnings about runs.
const (
	WarnInvalidDirectory  = "invalid_directory"
	WarnInvalidImportFile = archive.ErrInvalidImportFile
	WarnNoMatch           = "no_match"
	WarnCycle             = "dependency_cycle"
	WarnMissing           = "dependency_missing"
	WarnFailed            = "dependency_failed"
	WarnContentDiffers    = "content_differs"
	WarnSourceMoved       = "source_moved"
)

func note(code, at, message string) archive.Item {
	return archive.Item{Msg: message, Err: code, Filepath: at}
}

// listed returns items as events carry them.
func listed(items []archive.Item) []any {
	all := make([]any, len(items))
	for i, item := range items {
		all[i] = item
	}
	return all
}

// maxItems is how many items the event of one workspace has at most.
const maxItems = 100

// some returns what of a list an event has room for.
func some(items []archive.Item) []any { return listed(items[:min(len(items), maxItems)]) }

// refused is what became of a workspace that could not be pushed or imported.
func refused(p operation.Planned, err error) operation.Finished {
	f := operation.Finished{Slug: p.Slug, WorkspaceID: p.WorkspaceID, Name: p.Name, Status: operation.Faulty}
	refusal, told := errors.AsType[*domain.Error](err)
	switch _, later := errors.AsType[*commands.Unavailable](err); {
	case told:
	case later:
		refusal = domain.Refuse(domain.CodeUnavailable, "temporarily unavailable, try again later")
	default:
		refusal = domain.Refuse(domain.CodeInternal, "unexpected server error")
	}
	f.Reason = string(refusal.Code)
	if reason, ok := refusal.Details["reason"].(string); ok && refusal.Code != domain.CodeLocked {
		f.Reason = reason
	}
	if len(refusal.Message) > maxMessage {
		refusal = &domain.Error{Code: refusal.Code, Message: strings.ToValidUTF8(refusal.Message[:maxMessage], "") + "…", Details: refusal.Details}
	}
	details := map[string]any{}
	for key, value := range refusal.Details {
		if key != "reason" {
			details[key] = value
		}
	}
	f.Errors = []any{archive.Item{Msg: refusal.Message, Err: f.Reason, Filepath: p.Slug, WorkspaceID: p.WorkspaceID, Details: details}}
	if body, err := json.Marshal(f.Errors); err != nil || len(body) > maxDetails {
		f.Errors = []any{archive.Item{Msg: refusal.Message, Err: f.Reason, Filepath: p.Slug, WorkspaceID: p.WorkspaceID}}
	}
	return f
}

// What the error of one workspace may say.
const (
	maxMessage = 1000
	maxDetails = 16 << 10
)

// unexpected reports whether an error is one that the operator has to know.
func unexpected(err error) bool {
	_, told := errors.AsType[*domain.Error](err)
	return err != nil && !told && !errors.Is(err, context.Canceled)
}
