package projections

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"time"

	"svc/domain/operation"
)

// BlobReferences finds the blobs that the read models refer to: contents of files, documents that are
// too large for an event, at any time of the history, contents, texts and passages of documents of knowledge bases, results of
// operations, pictures of users.
type BlobReferences struct {
	// IsErased reports whether a workspace cannot come back: its references do not count.
	IsErased func(workspaceID string) bool
	// OperationsSince is when the oldest operation ended that is still shown.
	OperationsSince time.Time
}

// Visit calls visit with the name of each blob. It may call it with other hashes, and more than once.
func (b BlobReferences) Visit(r Reader, visit func(name string)) error {
	for _, from := range []func(Reader, func(string)) error{b.files, b.documents, b.knowledge, b.operations, b.users} {
		if err := from(r, visit); err != nil {
			return err
		}
	}
	return nil
}

// blobNameLen is the length of the name of a blob: a SHA-256 in hex.
const blobNameLen = 64

// files visits the contents of files. The record of a file names its content.
func (b BlobReferences) files(r Reader, visit func(string)) error {
	return r.Iterate(Files{}, Span{Prefix: []byte{'f'}}, func(key, value []byte) (bool, error) {
		if !b.IsErased(parseFileRef(key[1:]).WorkspaceID) {
			VisitBlobNames(value, visit)
		}
		return true, nil
	})
}

// documents visits the blobs of documents, of all changes and of staged content.
func (b BlobReferences) documents(r Reader, visit func(string)) error {
	for space, mark := range map[byte]string{'d': `"a":true`, 's': `"apart":true`} {
		err := r.Iterate(History{}, Span{Prefix: []byte{space}}, func(key, value []byte) (bool, error) {
			workspaceID, _, _ := bytes.Cut(key[1:], []byte{0})
			if bytes.Contains(value, []byte(mark)) && !b.IsErased(string(workspaceID)) {
				VisitBlobNames(value, visit)
			}
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// knowledge visits what the records of documents of knowledge bases name: the revisions that are kept, and what is
// searched.
func (b BlobReferences) knowledge(r Reader, visit func(string)) error {
	return r.Iterate(KBDocuments{}, Span{Prefix: []byte{'d'}}, func(key, value []byte) (bool, error) {
		workspaceID, _, _ := bytes.Cut(key[1:], []byte{0})
		if !b.IsErased(string(workspaceID)) {
			VisitBlobNames(value, visit)
		}
		return true, nil
	})
}

// operations visits the blobs in the records of operations: an operation that has not ended may need them.
func (b BlobReferences) operations(r Reader, visit func(string)) error {
	return r.Iterate(Operations{}, Span{Prefix: []byte{'o'}}, func(_, value []byte) (bool, error) {
		var op operation.State
		if err := json.Unmarshal(value, &op); err != nil {
			return false, err
		}
		if !b.IsErased(op.WorkspaceID) && (op.EndedAt == nil || !op.EndedAt.Before(b.OperationsSince)) {
			VisitBlobNames(value, visit)
		}
		return true, nil
	})
}

// users visits the pictures of accounts: their address ends with the name of the blob.
func (BlobReferences) users(r Reader, visit func(string)) error {
	return r.Iterate(Users{}, Span{Prefix: []byte{'u'}}, func(_, value []byte) (bool, error) {
		VisitBlobNames(value, visit)
		return true, nil
	})
}

// VisitBlobNames calls visit with each run of hex digits in text that may be the name of a blob.
func VisitBlobNames(text []byte, visit func(name string)) {
	start := 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && (text[i] >= '0' && text[i] <= '9' || text[i] >= 'a' && text[i] <= 'f') {
			continue
		}
		if i-start == blobNameLen {
			visit(string(text[start:i]))
		}
		start = i + 1
	}
}

// BlobID is the name of a blob in binary form.
type BlobID [blobNameLen / 2]byte

// String is the name.
func (id BlobID) String() string { return hex.EncodeToString(id[:]) }

// ParseBlobID reads a name; ok is false when it is none.
func ParseBlobID(name string) (id BlobID, ok bool) {
	if len(name) != blobNameLen {
		return id, false
	}
	_, err := hex.Decode(id[:], []byte(name))
	return id, err == nil
}
