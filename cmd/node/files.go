package node

import (
	"context"
	"path/filepath"
	"time"

	"svc/commands/files"
	"svc/http/api"
	"svc/projections"
)

func (n *Node) openFiles(context.Context) (err error) {
	n.places.files, err = files.New(files.Options{
		Engine: n.engine, Store: n.store.Log, Blobs: n.store.Blobs, Vault: n.places.vault, Now: time.Now, Host: n.host("workspaces"),
		Settings: func() files.Settings {
			w := n.config().Workspaces
			return files.Settings{Allowed: w.UploadsAllowed, Forbidden: w.UploadsForbidden, Public: w.UploadsVisibility == "public", MaxTotal: n.config().HTTP.FilesMaxSize}
		},
		Before: n.sizeOfFiles,
	})
	return err
}

func (n *Node) filesDeps() api.FilesDeps {
	c := n.config()
	return api.FilesDeps{
		Commands: n.places.files, Links: n.places.files, Contents: n.store.Blobs, URL: c.HTTP.APIURL, Dir: filepath.Join(c.Core.DataDir, "uploads"),
	}
}

// sizeOfFiles is how many bytes the files of a workspace have that were uploaded before
// totals were recorded.
func (n *Node) sizeOfFiles(ctx context.Context, workspaceID string) (bytes int64, err error) {
	if err := n.models.Fresh(ctx); err != nil {
		return 0, behind(err)
	}
	err = n.models.View(func(r projections.Reader) error {
		return projections.Files{}.List(r, workspaceID, time.Time{}, func(f projections.File) bool {
			bytes += f.Size
			return true
		})
	})
	return bytes, err
}

// sweepFiles deletes files whose time is over. They cannot be seen any more since
// then: this is about the space they take.
func (n *Node) sweepFiles(ctx context.Context) error {
	_, err := n.places.files.Expire(ctx, dueFiles{n.models}, time.Now())
	return err
}

// dueFiles finds files whose time is over.
type dueFiles struct{ models *projections.Models }

// Due implements files.Finder.
func (f dueFiles) Due(_ context.Context, now time.Time, limit int) (due []files.Ref, err error) {
	err = f.models.View(func(r projections.Reader) error {
		found, err := projections.Files{}.Due(r, now, limit)
		for _, ref := range found {
			due = append(due, files.Ref(ref))
		}
		return err
	})
	return due, err
}
