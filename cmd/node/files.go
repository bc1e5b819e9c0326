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
		Engine: n.engine, Store: n.store, Blobs: n.store, Vault: n.places.vault, Now: time.Now, Host: n.host("workspaces"),
		Settings: func() files.Settings {
			w := n.config().Workspaces
			return files.Settings{Allowed: w.UploadsAllowed, Forbidden: w.UploadsForbidden, Public: w.UploadsVisibility == "public"}
		},
	})
	return err
}

func (n *Node) filesDeps() api.FilesDeps {
	c := n.config()
	return api.FilesDeps{
		Commands: n.places.files, Links: n.places.files, Contents: n.store, URL: c.HTTP.APIURL, Dir: filepath.Join(c.Core.DataDir, "uploads"),
	}
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
