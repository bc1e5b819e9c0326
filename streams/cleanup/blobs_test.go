package cleanup_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/file"
	"svc/domain/kbdocument"
	"svc/domain/operation"
	"svc/domain/user"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/projections/livetest"
)

// owners are the blobs that the states of workspaces name.
type owners map[string][]string

func (o owners) WorkspaceBlobs(_ context.Context, workspaceID string, visit func(string)) error {
	for _, name := range o[workspaceID] {
		visit(name)
	}
	return nil
}

const blobSize = 1 << 20

// put stores a content that no other has, and returns its name.
func (h *fixture) put(seed byte) string {
	h.t.Helper()
	content := make([]byte, blobSize)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(content)
	sum := sha256.Sum256(content)
	name := hex.EncodeToString(sum[:])
	require.NoError(h.t, h.store.Blobs.PutFrom(h.t.Context(), bytes.NewReader(content), name, blobSize))
	return name
}

// appends appends events to an aggregate.
func (h *fixture) appends(stream domain.StreamID, events ...domain.Event) {
	h.t.Helper()
	c := eventstore.Commit{Stream: stream}
	for _, ev := range events {
		c.Facts = append(c.Facts, eventstore.Fact{ID: ulid.Make().String(), Event: ev})
	}
	loaded, err := h.store.Log.Load(h.t.Context(), stream, 0)
	require.NoError(h.t, err)
	if n := len(loaded); n > 0 {
		c.Expected = loaded[n-1].Seq
	}
	_, err = h.store.Log.Append(h.t.Context(), c)
	require.NoError(h.t, err)
}

func facts(workspaceID, id, content string) file.Facts {
	return file.Facts{ID: id, WorkspaceID: workspaceID, Terms: file.Terms{Name: id}, Content: file.Content{Checksum: content, Size: blobSize}}
}

// onDisk is how many bytes the blobs take.
func (h *fixture) onDisk() (size int64) {
	h.t.Helper()
	require.NoError(h.t, filepath.WalkDir(filepath.Join(h.dir, "jetstream", "$G", "streams", "OBJ_BLOBS", "msgs"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(d.Name()) == ".blk" {
			if info, err := d.Info(); err == nil { // else the broker has just removed it
				size += info.Size()
			}
		}
		return nil
	}))
	return size
}

// stored lists the blobs that there are.
func (h *fixture) stored() (names []string) {
	h.t.Helper()
	require.NoError(h.t, h.store.Blobs.List(h.t.Context(), func(b eventstore.Blob) error {
		names = append(names, b.Name)
		return nil
	}))
	return names
}

func TestContentsThatNothingRefersToAreDeleted(t *testing.T) {
	t.Parallel()
	h := open(t)
	at := time.Now().UTC().Truncate(time.Millisecond)
	names := make([]string, 40)
	for i := range names {
		names[i] = h.put(byte(i))
	}
	kept, gone := names[:13], names[13:]
	document := func(hash string) workspace.Entry {
		return workspace.Entry{Path: "automations/a", Hash: hash, Apart: true}
	}
	ended := func(id, result string, at time.Time) []domain.Event {
		return []domain.Event{
			operation.Started{About: operation.About{ID: id, Kind: operation.Push, WorkspaceID: "alive", CreatedAt: at}},
			operation.Ended{ID: id, Kind: operation.Push, Status: operation.Succeeded, Apart: result, EndedAt: at},
		}
	}
	h.exists("alive", workspace.AutomationCreated{Entry: document(kept[0])}, workspace.AutomationUpdated{Entry: document(kept[1])})
	h.exists("restorable", workspace.Deleted{ID: "restorable", DeletedAt: at, RestorableUntil: at.Add(50 * day)})
	h.exists("erased", workspace.AutomationCreated{Entry: document(gone[0])}, workspace.Deleted{ID: "erased", DeletedAt: at, RestorableUntil: at.Add(30 * day)})
	h.appends(file.Stream("alive", "f1"), file.Uploaded{File: facts("alive", "f1", gone[1])}, file.Updated{File: facts("alive", "f1", kept[2])})
	h.appends(file.Stream("alive", "f2"), file.Uploaded{File: facts("alive", "f2", gone[2])}, file.Deleted{ID: "f2"})
	h.appends(file.Stream("restorable", "f3"), file.Uploaded{File: facts("restorable", "f3", kept[3])})
	h.appends(file.Stream("erased", "f4"), file.Uploaded{File: facts("erased", "f4", gone[3])})
	h.appends(file.Stream("erased", "f5"), file.Uploaded{File: facts("erased", "f5", kept[2])}) // another workspace has it, too
	h.appends(operation.Stream("alive", "o1"), ended("o1", kept[4], at.Add(29*day))...)
	h.appends(operation.Stream("alive", "o2"), ended("o2", gone[4], at)...)
	h.appends(user.Stream("u1"), user.Created{User: user.User{ID: "u1", Photo: "/v2/users/u1/photo?v=" + kept[5], Status: user.Validated}})
	doc := kbdocument.State{ID: "doc_1", BaseID: "kb_1", Generation: 1, Revision: 1, Revisions: []kbdocument.Revision{{Number: 1, Content: kbdocument.Content{Hash: kept[8]}}}}
	first := &kbdocument.Extract{Revision: 1, Text: kept[9], Size: blobSize, Chunks: gone[6]}
	h.appends(kbdocument.Stream("alive", "doc_1"), kbdocument.Added{Document: doc}, kbdocument.ReadyEvent{Generation: 1, Extract: first})
	doc.Revision, doc.Generation, doc.Extract = 2, 2, first
	doc.Revisions = []kbdocument.Revision{{Number: 1, Content: kbdocument.Content{Hash: kept[8]}, Text: kept[9], TextSize: blobSize}, {Number: 2, Content: kbdocument.Content{Hash: kept[10]}}}
	h.appends(kbdocument.Stream("alive", "doc_1"), kbdocument.Updated{Document: doc}, kbdocument.ReadyEvent{Generation: 2, Extract: &kbdocument.Extract{Revision: 2, Text: kept[11], Chunks: kept[12]}})
	h.owners["alive"] = []string{kept[6]}
	h.owners["restorable"] = []string{kept[7]}
	h.owners["erased"] = []string{gone[5]}
	livetest.Fresh(t, h.models)
	full := h.onDisk()
	require.Greater(t, full, int64(len(names)*blobSize))

	terms := keepAll
	terms.Operations = 7 * day
	h.now = at.Add(23 * time.Hour)
	require.Equal(t, &activity.Blobs{}, h.runIndices(terms).Blobs, "all are too young")
	h.now = at.Add(31 * day)
	terms.DryRun = true
	found := &activity.Blobs{Deleted: uint64(len(gone)), FreedBytes: uint64(len(gone) * blobSize)}
	require.Equal(t, found, h.runIndices(terms).Blobs)
	require.Len(t, h.stored(), len(names))
	terms.DryRun = false
	require.Equal(t, found, h.runIndices(terms).Blobs)
	require.ElementsMatch(t, kept, h.stored())
	for _, name := range kept {
		_, err := h.store.Blobs.Get(t.Context(), name)
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return h.onDisk() < full/2 }, time.Minute, 50*time.Millisecond, "the disk has its space back")
	require.Equal(t, &activity.Blobs{}, h.runIndices(terms).Blobs, "it is done once")
	h.isWhole()
}
