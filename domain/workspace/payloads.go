package workspace

import (
	"encoding/json"
	"time"

	"svc/domain/access"
	"svc/domain/document"
)

// What the catalogue shows of events that carry more than that.
type (
	shownWorkspace struct {
		Workspace *document.Map `json:"workspace"`
		OldSlug   string        `json:"oldSlug,omitempty"`
	}
	shownConfig struct {
		Config    *document.Map `json:"config"`
		OldConfig *document.Map `json:"oldConfig,omitempty"`
	}
	shownBlocks struct {
		Blocks        *document.Map `json:"blocks"`
		WorkspaceSlug string        `json:"workspaceSlug"`
	}
	shownTypes struct {
		Events *document.Map `json:"events"`
	}
	shownCopy struct {
		Workspace *document.Map `json:"workspace"`
		From      Named         `json:"fromWorkspace"`
	}
	shownSecurity struct {
		Security access.Security `json:"security"`
	}
	shownShare struct {
		SubjectID   string              `json:"subjectId"`
		Target      access.Target       `json:"target"`
		Permissions *access.Permissions `json:"permissions,omitempty"`
	}
	shownSecrets struct {
		Created []string `json:"created"`
		Updated []string `json:"updated"`
		Deleted []string `json:"deleted"`
	}
	shownReturn struct {
		ID   string `json:"workspaceId"`
		Slug string `json:"workspaceSlug"`
		Name string `json:"name"`
	}
	shownLock struct {
		Reason      string     `json:"reason"`
		Epoch       uint64     `json:"epoch"`
		LockedBy    string     `json:"lockedBy"`
		OperationID string     `json:"operationId,omitempty"`
		ExpiresAt   *time.Time `json:"expiresAt,omitempty"`
	}
	shownVersion struct {
		Version Version  `json:"version"`
		Changes *Changes `json:"changes,omitempty"`
	}
	shownMark struct {
		RepositoryID string `json:"repositoryId"`
		Commit       string `json:"commit"`
	}
	shownStage struct {
		Count int `json:"count"`
	}
	shownDocument struct {
		Slug        string          `json:"slug"`
		Automation  json.RawMessage `json:"automation,omitempty"`
		Page        json.RawMessage `json:"page,omitempty"`
		AppInstance json.RawMessage `json:"appInstance,omitempty"`
		Events      *document.Map   `json:"events,omitempty"`
		OldSlug     string          `json:"oldSlug,omitempty"`
		Truncated   bool            `json:"truncated,omitempty"`
	}
)

// Payload implements domain.Shown.
func (e Created) Payload() any { return shownWorkspace{Workspace: fitting(e.Workspace.told())} }

// Payload implements domain.Shown.
func (e Updated) Payload() any {
	return shownWorkspace{Workspace: fitting(e.Workspace.told()), OldSlug: e.OldSlug}
}

// Payload implements domain.Shown.
func (e Configured) Payload() any {
	payload := shownConfig{Config: fitting(e.Workspace.Settings.told())}
	if e.OldConfig != nil {
		payload.OldConfig = fitting(HideSecrets(e.OldConfig))
	}
	return payload
}

// Payload implements domain.Shown.
func (e BlocksUpdated) Payload() any {
	return shownBlocks{fitting(e.Workspace.Settings.Blocks), e.Workspace.Settings.Slug}
}

// Payload implements domain.Shown.
func (e EventsUpdated) Payload() any { return shownTypes{fitting(e.Workspace.Settings.Events)} }

// Payload implements domain.Shown.
func (e Duplicated) Payload() any { return shownCopy{fitting(e.Workspace.told()), e.From} }

// Payload implements domain.Shown.
func (e Secured) Payload() any { return shownSecurity{e.Security} }

// Payload implements domain.Shown.
func (e PageShared) Payload() any { return shownShare{e.SubjectID, e.Target, &e.Permissions} }

// Payload implements domain.Shown.
func (e PageUnshared) Payload() any { return shownShare{SubjectID: e.SubjectID, Target: e.Target} }

// Payload implements domain.Shown.
func (e SecretsUpdated) Payload() any {
	return shownSecrets{names(e.Created), names(e.Updated), names(e.Deleted)}
}

func names(list []string) []string { return append([]string{}, list...) }

// Payload implements domain.Shown.
func (e Undeleted) Payload() any { return shownReturn{e.ID, e.Slug, e.Name} }

// Payload implements domain.Shown.
func (e Locked) Payload() any {
	payload := shownLock{Reason: e.Reason, Epoch: e.Epoch, LockedBy: e.LockedBy, ExpiresAt: e.ExpiresAt}
	if e.Operation != nil {
		payload.OperationID = e.Operation.ID
	} else if e.Conflict != nil {
		payload.OperationID = e.Conflict.OperationID
	}
	return payload
}

// Payload implements domain.Shown.
func (e Published) Payload() any { return shownVersion{e.Version, e.Changes} }

// Payload implements domain.Shown.
func (e Marked) Payload() any { return shownMark{e.RepositoryID, e.Commit} }

// Payload implements domain.Shown.
func (e Intended) Payload() any { return shownMark{e.RepositoryID, e.Intent.Commit} }

// Payload implements domain.Shown.
func (e Staged) Payload() any { return shownStage{len(e.Entries)} }

// Payload implements domain.Shown.
func (e AutomationCreated) Payload() any { return e.shown() }

// Payload implements domain.Shown.
func (e AutomationUpdated) Payload() any { return e.shown() }

// Payload implements domain.Shown.
func (e PageCreated) Payload() any { return e.shown() }

// Payload implements domain.Shown.
func (e PageUpdated) Payload() any { return e.shown() }

// Payload implements domain.Shown.
func (e Installed) Payload() any { return e.shown() }

// Payload implements domain.Shown.
func (e InstanceConfigured) Payload() any { return e.shown() }

// maxShown is how long a document may be to be told in the payload of an event;
// of a longer one the payload tells what lists show.
const maxShown = 100 << 10

// shown is the payload of the catalogue: {slug, <kind>, events, oldSlug?}.
func (e Entry) shown() shownDocument {
	payload := shownDocument{Slug: slugOf(e.Path), Events: e.Events}
	body := e.told()
	if len(body) == 0 || len(body) > maxShown {
		body, _ = document.JSON(e.Describe()) // it was read from JSON
		payload.Truncated = true
	}
	switch folder, _ := Folder(e.Path); folder {
	case "pages":
		payload.Page = body
	case "imports":
		payload.AppInstance = body
	default:
		payload.Automation = body
	}
	if e.From != "" {
		payload.OldSlug = slugOf(e.From)
	}
	return payload
}
