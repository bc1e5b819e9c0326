package domain

import (
	"regexp"
	"unicode/utf8"
)

// maxBranch is the length of a branch name, in bytes: file systems of servers
// take no longer ones, with what we put before it.
const maxBranch = 200

// badBranch is what git takes for no branch, and those that are ours: svc/….
var badBranch = regexp.MustCompile(`^$|^(svc/|-|/|\.)|[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(/|$)|[./]$|^(@|HEAD)$`)

// IsBranch reports whether name can be the branch of a repository that a
// workspace is pushed to.
func IsBranch(name string) bool {
	return len(name) <= maxBranch && utf8.ValidString(name) && !badBranch.MatchString(name)
}
