package content

import (
	"slices"
	"strings"

	"svc/commands/archive"
	"svc/domain/workspace"
)

func (p plan) result(workspaceID, operation string, r *archive.Reading) Result {
	result := Result{
		WorkspaceID: workspaceID, OperationID: operation, Imported: sorted(p.imported), Deleted: sorted(p.deleted),
		Errors: of(workspaceID, p.errors), Warnings: of(workspaceID, p.warnings),
	}
	if r != nil && r.Import != nil {
		result.Version = r.Import.Version
		if r.Import.AppSlug != "" {
			result.Publish = r.Import
		}
	}
	return result
}

// of returns items of a workspace whose id was not known when they were made.
func of(workspaceID string, items []archive.Item) []archive.Item {
	all := make([]archive.Item, len(items))
	for i, item := range items {
		item.WorkspaceID = workspaceID
		all[i] = item
	}
	return all
}

func sorted(paths []string) []string {
	paths = append([]string{}, paths...)
	slices.Sort(paths)
	return paths
}

// What the lists of an event have at most: so many entries, and so many bytes of
// them. Counts are complete.
const (
	maxListed      = 500
	maxListedBytes = 48 << 10
	maxMessage     = 300
)

// tell is what the event of an import says.
func tell(about workspace.Named, result Result) workspace.Import {
	told := workspace.Import{
		Workspace: about, OperationID: result.OperationID, FilesCount: len(result.Imported), DeletedCount: len(result.Deleted),
	}
	var cut [4]bool
	told.Files, cut[0] = fitting(result.Imported, func(path string) int { return len(path) + 3 })
	told.Deleted, cut[1] = fitting(result.Deleted, func(path string) int { return len(path) + 3 })
	told.Errors, cut[2] = items(result.Errors)
	told.Warnings, cut[3] = items(result.Warnings)
	told.Truncated = slices.Contains(cut[:], true)
	if result.Version != "" {
		told.Version = &workspace.ImportedVersion{Name: result.Version}
	}
	if result.Publish != nil {
		told.PublishedApp = result.Publish.AppSlug
	}
	return told
}

// fitting returns what of a list an event has room for.
func fitting[T any](list []T, size func(T) int) (some []T, cut bool) {
	room := maxListedBytes
	for i, item := range list {
		if room -= size(item); i == maxListed || room < 0 {
			return append([]T{}, list[:i]...), true
		}
	}
	return append([]T{}, list...), false
}

func items(list []archive.Item) (told []any, cut bool) {
	some, cut := fitting(list, func(item archive.Item) int {
		return min(len(item.Msg), maxMessage) + len(item.Filepath) + 100
	})
	told = make([]any, len(some))
	for i, item := range some {
		if len(item.Msg) > maxMessage {
			item.Msg, cut = strings.ToValidUTF8(item.Msg[:maxMessage], ""), true
		}
		told[i] = item
	}
	return told, cut
}
