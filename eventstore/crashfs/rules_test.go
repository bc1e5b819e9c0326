//go:build fault

package crashfs_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/eventstore/crashfs"
)

type files = map[string]string

// rule is a script and what is left of it when the power fails at its end.
type rule struct {
	script step
	strict files // nothing unsynced survives; on top of the base
	names  files // as strict, but all names survive; nil: the same
}

const newFile = os.O_CREATE | os.O_WRONLY

// base is on disk before each script.
var base = files{"old": "old", "dir/inner": "inner"}

var rules = map[string]rule{
	"a written file without any sync is gone": {
		script(put("a", "text")), files{}, files{"a": ""},
	},
	"a synced file without a directory sync is gone": {
		script(file("a", newFile, write("text"), fsync)), files{}, files{"a": "text"},
	},
	"a directory sync alone keeps the name without the data": {
		script(put("a", "text"), syncDir(".")), files{"a": ""}, nil,
	},
	"both syncs keep the file": {
		script(file("a", newFile, write("text"), fsync), syncDir(".")), files{"a": "text"}, nil,
	},
	"what is written after the sync is lost": {
		script(file("old", os.O_WRONLY|os.O_APPEND, write("er"), fsync, write("!"))), files{"old": "older"}, nil,
	},
	"an overwrite in place is lost until synced": {
		script(file("old", os.O_WRONLY, writeAt(1, "XX"))), files{"old": "old"}, nil,
	},
	"an overwrite in place is kept when synced": {
		script(file("old", os.O_WRONLY, writeAt(1, "XX"), writeAt(5, "y"), fsync)), files{"old": "oXX\x00\x00y"}, nil,
	},
	"a truncation is lost until synced": {
		script(file("old", os.O_WRONLY, truncate(1))), files{"old": "old"}, nil,
	},
	"a truncation is kept when synced": {
		script(file("old", os.O_WRONLY, truncate(1), truncate(2), fsync)), files{"old": "o\x00"}, nil,
	},
	"opening with O_TRUNC is a truncation": {
		script(file("old", os.O_WRONLY|os.O_TRUNC, fsync, write("new"))), files{"old": ""}, nil,
	},
	"O_SYNC syncs each write": {
		script(file("old", os.O_WRONLY|os.O_SYNC, write("new"), write("er"))), files{"old": "newer"}, nil,
	},
	"O_SYNC does not sync a truncation": {
		script(file("old", os.O_WRONLY|os.O_SYNC, write("new"), truncate(1))), files{"old": "new"}, nil,
	},
	"a rename without a directory sync did not happen": {
		script(file("tmp", newFile, write("new"), fsync), rename("tmp", "old")), files{}, files{"old": "new"},
	},
	"a synced rename carries the data of its file": {
		script(file("tmp", newFile, write("new"), fsync), rename("tmp", "old"), syncDir(".")), files{"old": "new"}, nil,
	},
	"a synced rename of unsynced data leaves an empty file": {
		script(put("tmp", "new"), rename("tmp", "old"), syncDir(".")), files{"old": ""}, nil,
	},
	"a move to another directory needs only the sync of its destination": {
		script(rename("old", "dir/moved"), syncDir("dir")), files{"old": "-", "dir/moved": "old"}, nil,
	},
	"a move to another directory is not kept by the sync of its source": {
		script(rename("old", "dir/moved"), syncDir(".")), files{}, files{"old": "-", "dir/moved": "old"},
	},
	"a moved directory takes its files along": {
		script(rename("dir", "moved"), file("moved/inner", os.O_WRONLY, write("I"), fsync), syncDir(".")),
		files{"dir/inner": "-", "moved/inner": "Inner"}, nil,
	},
	"an unlink without a directory sync did not happen": {
		script(remove("old")), files{}, files{"old": "-"},
	},
	"an unlink is kept when synced": {
		script(remove("old"), syncDir(".")), files{"old": "-"}, nil,
	},
	"a new directory needs the sync of its parent": {
		script(mkdir("d"), file("d/a", newFile, write("text"), fsync), syncDir("d")), files{}, files{"d/a": "text"},
	},
	"a new directory is kept with what it synced": {
		script(mkdir("d"), file("d/a", newFile, write("text"), fsync), syncDir("d"), put("d/b", ""), syncDir(".")),
		files{"d/a": "text"}, files{"d/a": "text", "d/b": ""},
	},
	"a removed directory is kept removed when synced": {
		script(remove("dir/inner"), remove("dir"), syncDir(".")), files{"dir/inner": "-"}, nil,
	},
	"a name used again is the new file": {
		script(remove("old"), file("old", newFile, write("2"), fsync), syncDir(".")), files{"old": "2"}, nil,
	},
	"a hard link is a second name of one file": {
		script(link("old", "twin"), syncDir("."), remove("old"), file("twin", os.O_WRONLY, write("T"), fsync)),
		files{"old": "Tld", "twin": "Tld"}, files{"old": "-", "twin": "Tld"},
	},
	"a symbolic link is a name": {
		script(symlink("old", "s"), syncDir("."), symlink("old", "t")), files{"s": "-> old"}, files{"s": "-> old", "t": "-> old"},
	},
}

func TestRules(t *testing.T) {
	for name, r := range rules {
		t.Run(name, func(t *testing.T) {
			f, backing, dir := mount(t, base)
			run(t, name, dir)
			end := f.Mark()
			names := r.names
			if names == nil {
				names = r.strict
			}
			require.Equal(t, with(base, r.strict), image(t, f, crashfs.Cut{At: end}))
			require.Equal(t, with(base, names), image(t, f, crashfs.Cut{At: end, Names: crashfs.NamesKept}))
			require.Equal(t, tree(t, backing), image(t, f, crashfs.Cut{At: end, Names: crashfs.NamesKept, Data: crashfs.Kept}))
			require.Equal(t, base, image(t, f, crashfs.Cut{At: 0, Names: crashfs.NamesKept, Data: crashfs.Kept}))
		})
	}
}
