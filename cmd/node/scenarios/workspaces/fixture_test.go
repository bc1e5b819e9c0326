package workspaces_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// testdata/2026-11 is a data directory as commit feafe77 left it after a clean stop, and
// what that commit answered to GET requests on it. What it holds is read for as long as
// there is a version of this service.
func TestADataDirectoryOfNovember2026AnswersAsItDid(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile("testdata/2026-11/answers.json")
	require.NoError(t, err)

	for name, withoutCopies := range map[string]bool{"with its read models": false, "with the log alone": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Nothing may be old, whenever this test runs.
			s := nodetest.NewServiceWithAccounts(t, "EVENTS_CLEANUP_ENABLED=no", "RUN_RECORDING_DAYS=3650", "OPERATIONS_RETENTION_DAYS=3650")
			unpackTar(t, "testdata/2026-11/data.tar.gz", s.Dir)
			if withoutCopies {
				require.NoError(t, os.RemoveAll(filepath.Join(s.Dir, "readmodels")))
				require.NoError(t, os.RemoveAll(filepath.Join(s.Dir, "rows")))
			}
			s.Start(t)
			s.Await(t, "/readyz", 200)
			var fixture struct {
				Email, Password, Workspace string
				Answers                    map[string]any
			}
			text := strings.ReplaceAll(string(body), "http://localhost:39401", strings.Replace(s.Base, "127.0.0.1", "localhost", 1))
			require.NoError(t, json.Unmarshal([]byte(text), &fixture))
			admin := nodetest.Bearer(s.Login(t, fixture.Email, fixture.Password)["token"].(string))
			for path, want := range fixture.Answers {
				got := s.Get(t, path, admin)
				require.Equal(t, 200, got.StatusCode, "%s: %s", path, got.Body)
				var answer any
				require.NoError(t, json.Unmarshal(got.Body, &answer))
				require.Equal(t, want, asOfThen(answer), path)
			}

			at := "/v2/workspaces/" + fixture.Workspace
			for _, run := range s.Get(t, at+"/runs", admin).List(t) {
				if run["recorded"] != true {
					continue
				}
				replayed := s.Must(t, "POST", at+"/runs/"+run["correlationId"].(string)+"/replay", admin, `{}`)
				require.Equal(t, "identical", replayed["status"], "%s: %v", run["automation"], replayed)
			}
			made := s.Must(t, "POST", at+"/webhooks/order", admin, `{"amount":7}`)
			require.Equal(t, map[string]any{"ok": true}, made)
		})
	}
}

// asOfThen removes what workspaces did not have then, and the sentences about events: their words may improve.
func asOfThen(v any) any {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			asOfThen(item)
		}
	case map[string]any:
		delete(v, "summary")
		delete(v, "knowledgeBases")
		delete(v, "agents")
		delete(v, "documents")
		delete(v, "tests")
		for _, member := range v {
			asOfThen(member)
		}
	}
	return v
}

// unpackTar writes the files of an archive, and leaves holes where they hold zeros only.
func unpackTar(t *testing.T, archive, dir string) {
	t.Helper()
	in, err := os.Open(archive)
	require.NoError(t, err)
	defer in.Close()
	plain, err := gzip.NewReader(in)
	require.NoError(t, err)
	for files := tar.NewReader(plain); ; {
		file, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		path := filepath.Join(dir, filepath.FromSlash(file.Name))
		if file.Typeflag == tar.TypeDir {
			require.NoError(t, os.MkdirAll(path, 0o700))
			continue
		}
		content, err := io.ReadAll(files)
		require.NoError(t, err)
		trimmed := strings.TrimRight(string(content), "\x00")
		require.NoError(t, os.WriteFile(path, []byte(trimmed), 0o600))
		require.NoError(t, os.Truncate(path, int64(len(content))))
	}
}
