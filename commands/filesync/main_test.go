package filesync_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"svc/commands/archive"
	"svc/commands/filesync"
)

// The test binary is also a process that replaces a directory and is killed in
// the middle of it.
const (
	dirVariable  = "FILESYNC_DIR"
	diesVariable = "FILESYNC_DIES_BEFORE" // this change
	opVariable   = "FILESYNC_OPERATION"
	seenVariable = "FILESYNC_SEEN" // what is expected there, as an index.yml; "": nothing
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(dirVariable); dir != "" {
		os.Exit(replaceAndDie(dir))
	}
	os.Exit(m.Run())
}

// replaceAndDie replaces the directory and returns 0, unless it dies before.
func replaceAndDie(dir string) int {
	d, err := filesync.Open(dir, archive.Usual)
	if err != nil {
		return 1
	}
	at, _ := strconv.Atoi(os.Getenv(diesVariable))
	changes := 0
	d.Before(func(string) {
		if changes++; changes == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	})
	expect := archive.Tree{}
	if name := os.Getenv(seenVariable); name != "" {
		expect = state(name)
	}
	if d.Replace(context.Background(), "billing", state("new"), os.Getenv(opVariable), expect) != nil {
		return 1
	}
	return 0
}

// state is the managed files of a workspace with this name.
func state(name string) archive.Tree {
	return archive.Tree{
		"index.yml": []byte("name: " + name + "\n"), "automations/" + name + "/a.yml": []byte("do: []\n"),
		archive.ImportPath: []byte("version:\n  name: " + strings.ToUpper(name) + "\n"),
	}
}
