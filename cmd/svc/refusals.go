package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"svc/cmd/client"
	"svc/domain"
	"svc/domain/workspace"
	"svc/projections"
)

// advice is what to do next, by the reason of a refusal, or its code. What stands
// in braces is filled in.
var advice = map[string]string{
	"not_up_to_date":             "`{svc pull}` brings what the remote has; then push again",
	workspace.MergeConflict:      "decide in Git, on the branch that is named, and `{svc pull}` again; or see `{svc conflicts list}` and decide with `{svc conflicts resolve}`; or `{svc unlock}` and `{svc pull --discard}`, which takes what the remote has",
	"lock_lost":                  "somebody cleared the lock or took it over; `{svc status}` tells how it stands",
	"outcome_unknown":            "`{svc status --refresh}` finds out whether the remote took it",
	"interrupted":                "nothing was changed: do it again",
	"intermediate_branch_in_use": "merge that branch or delete it, in Git; then do it again",
	"remote_empty":               "`{svc push}` first: there is nothing to pull yet",
	"remote_auth_failed":         "mend the credentials of the repository",
	"remote_refused":             "the remote protects that branch, or its credentials may not write to it",
	"remote_unreachable":         "do it again later, or mend the address of the repository",
	"repository_read_only":       "push to another repository, or change its mode",
	"repository_write_only":      "pull from another repository, or change its mode",
	"already_ended":              "there is nothing left to cancel; `{svc status}` tells how it stands",
	"session_required":           "this takes a session, not a token",
	"automation_failed":          "`{svc logs}` shows the run",
	"position_expired":           "what came after that position was cleaned up: begin later, or without --from",

	workspace.BulkImportInProgress: "wait until the run has ended; `{svc cancel}` stops it",
	workspace.BulkPushInProgress:   "wait until the run has ended; `{svc cancel}` stops it",

	string(domain.CodeLocked):            "wait until it is free, or `{svc unlock}`",
	string(domain.CodeMissingToken):      "`{svc login}`",
	string(domain.CodeInvalidToken):      "`{svc login}` again: the token was revoked, or is of another service",
	string(domain.CodeTokenExpired):      "`{svc login}` again",
	string(domain.CodeWorkspaceDenied):   "check the name of the workspace, or have it shared with you",
	string(domain.CodePermissionDenied):  "have somebody who manages the workspace give you the right",
	string(domain.CodeAlreadyExists):     "choose another --name",
	string(domain.CodeRateLimit):         "wait a minute and do it again",
	string(domain.CodeConcurrency):       "wait until the others are done",
	string(domain.CodeUnavailable):       "do it again in a moment",
	string(domain.CodeGatewayTimeout):    "do it again; `{svc status}` tells how it stands",
	string(domain.CodeInternal):          "tell the operator of the service the number of the request",
	string(domain.CodeInsufficientScope): "sign in with an account that may: `{svc login}`",
}

// explain turns what went wrong into what somebody at a terminal needs: what was
// refused and why, the details, and what to do next.
func (r *remote) explain(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted")
	}
	refused, ok := errors.AsType[*client.Error](err)
	if !ok {
		return err
	}
	lines := []string{refused.Message}
	if fields := refusedFields(refused); len(fields) == 1 && fields[0].text() == refused.Message { // the message tells of it already
		lines[0] = fields[0].String()
	}
	if refused.Code != "" {
		lines[0] += " (" + strings.TrimSuffix(string(refused.Code)+", "+refused.Reason(), ", ") + ")"
	}
	if refused.Code == domain.CodeLocked {
		lines = append(lines, r.lockHolder(ctx, refused))
	} else {
		lines = append(lines, details(refused)...)
	}
	for _, key := range []string{refused.Reason(), string(refused.Code)} {
		if text, ok := advice[key]; ok {
			if refused.Code == domain.CodePermissionDenied && r.named == "" {
				text = "this takes a super admin: `{svc login}` as one"
			}
			lines = append(lines, "next: "+r.fillAdvice(text, refused))
			break
		}
	}
	if refused.Status >= http.StatusInternalServerError && refused.RequestID != "" {
		lines = append(lines, "request: "+refused.RequestID)
	}
	for i, line := range lines {
		lines[i] = clean(line)
	}
	return refusedError{strings.Join(lines, "\n"), err}
}

// refusedError is a refusal as it is printed.
type refusedError struct {
	text string
	error
}

// Error implements error.
func (e refusedError) Error() string { return e.text }

// Unwrap returns the refusal.
func (e refusedError) Unwrap() error { return e.error }

// fillAdvice writes the command lines of an advice as they are to be typed.
func (r *remote) fillAdvice(text string, refused *client.Error) string {
	var repository string
	refused.Detail("repositoryId", &repository)
	for _, verb := range []string{"login", "push", "pull", "pull --discard", "status", "status --refresh", "unlock", "logs"} {
		words := strings.Fields(verb)
		if verb != "login" {
			words = slices.Insert(words, 1, r.named)
		}
		if repository != "" && verb != "login" && verb != "unlock" && verb != "logs" {
			words = append(words, "--repository", repository)
		}
		text = strings.ReplaceAll(text, "{svc "+verb+"}", r.commandLine(words...))
	}
	var holder struct {
		ID string `json:"id"`
	}
	refused.Detail("operation", &holder)
	for _, verb := range []string{"list", "resolve"} {
		text = strings.ReplaceAll(text, "{svc conflicts "+verb+"}", r.commandLine("conflicts", verb, r.named))
	}
	return strings.ReplaceAll(text, "{svc cancel}", r.commandLine("cancel", r.named, holder.ID))
}

// details tells what a program would read, in the order of the names.
func details(refused *client.Error) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(refused.Details)) {
		var list []string
		switch {
		case name == "reason":
		case name == "errors" && len(refusedFields(refused)) > 0:
			if fields := refusedFields(refused); len(fields) > 1 || fields[0].text() != refused.Message {
				for _, f := range fields {
					lines = append(lines, f.String())
				}
			}
		case refused.Detail(name, &list):
			lines = append(lines, name+": "+strings.Join(list, ", "))
		default:
			lines = append(lines, name+": "+plain(refused.Details[name]))
		}
	}
	return lines
}

// refusedField is what is wrong with a field.
type refusedField struct {
	domain.FieldError
	Line int `json:"line"` // of a document in YAML
}

func (f refusedField) text() string { return strings.TrimPrefix(f.Field+": "+f.Message, ": ") }

// String is the fault with its line.
func (f refusedField) String() string {
	if f.Line == 0 {
		return f.text()
	}
	return fmt.Sprintf("line %d: %s", f.Line, f.text())
}

// refusedFields are the fields at fault.
func refusedFields(refused *client.Error) (fields []refusedField) {
	refused.Detail("errors", &fields)
	return fields
}

// plain is a detail as a text.
func plain(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// lockHolder tells who holds the lock that was in the way.
func (r *remote) lockHolder(ctx context.Context, refused *client.Error) string {
	lock := projections.WriteLock{Reason: refused.Reason()}
	refused.Detail("lockedBy", &lock.LockedBy)
	refused.Detail("lockedAt", &lock.LockedAt)
	refused.Detail("expiresAt", &lock.ExpiresAt)
	refused.Detail("operation", &lock.Operation)
	return "locked by " + r.lockText(ctx, lock)
}

// lockText tells of a lock: who holds it, what for, and until when.
func (r *remote) lockText(ctx context.Context, lock projections.WriteLock) string {
	text := fmt.Sprintf("%s since %s: %s", r.userName(ctx, lock.LockedBy), lock.LockedAt, lock.Reason)
	if lock.Operation != nil {
		text += fmt.Sprintf(", operation %s (%s)", lock.Operation.ID, lock.Operation.Kind)
	}
	if lock.ExpiresAt != "" {
		return text + ", until " + lock.ExpiresAt
	}
	return text + ", until it is cleared"
}

// userName names a user: by their name where the caller may see who shares the
// workspace, else by their id.
func (r *remote) userName(ctx context.Context, id string) string {
	if id != "" && id == r.userID {
		return "you"
	}
	var shares struct {
		Result []struct {
			Target struct{ ID, DisplayName string }
		}
	}
	if err := r.Get(ctx, r.path("/permissions"), &shares); err != nil {
		return id // the caller may not see it: the id has to do
	}
	for _, share := range shares.Result {
		if share.Target.ID == id && share.Target.DisplayName != "" {
			return share.Target.DisplayName + " (" + id + ")"
		}
	}
	return id
}
