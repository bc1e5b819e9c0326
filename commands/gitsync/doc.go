// Package gitsync speaks Git with the remotes of workspaces
// (contract/versioning.md 16 and 17): it lists refs, fetches history, builds
// trees and commits in an object store, and sends them with the exact ids that
// each ref must have had. There is no work tree and no git program.
//
// A Session is one conversation with one remote, Objects is what came of it.
// Connections are made by Options.Dial, which knows the addresses that may be
// reached. Nothing that a remote says is trusted: sizes are bounded, texts are
// cleaned, and no credential is in any error.
package gitsync
