// Package merge brings two changes of a workspace's files together, file by file
// (contract/versioning.md 10): ours, which is the workspace, and theirs, which is
// the target branch. Files are compared by what they mean; of two that mean the
// same, the bytes of theirs are kept, so that comments and layout in Git stay.
package merge
